// What all pictures in pages have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cortado::report {

/// Text that is safe inside HTML and SVG.
std::string escape_html(std::string_view text);

/// Colours that people with colour-blindness can tell apart (Okabe and Ito), on light and on dark ground; seven, the
/// last one grey, then again from the first.
std::string_view series_colour(std::size_t index);

/// The smallest 1, 2, 2.5 or 5 times a power of ten that reaches `least`, which is above 0: a distance of ticks.
double round_up(double least);

/// A label of an axis or a legend; `anchor` is start, middle or end.
std::string axis_text(double x, double y, std::string_view anchor, std::string_view what);

}  // namespace cortado::report
