// The parts of Observable Plot that the views draw with: a file of its own, which is fetched while the first question is computed.
export { areaY, barX, barY, cell, dot, lineY, plot, pointer, ruleX, ruleY, text, tip } from '@observablehq/plot';
