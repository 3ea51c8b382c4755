"""The examples of the docstrings, and what needs no array."""
import doctest
import sys
import unittest

import cortado


class Planning(unittest.TestCase):
    def test_refused_programs_are_exceptions_with_code_and_hint(self):
        with self.assertRaises(cortado.Error) as caught:
            cortado.plan("all-gather", 1 << 20, variant="bcts")
        self.assertEqual(caught.exception.code, "plan.unknown_variant")
        self.assertIn("bcst", str(caught.exception))

    def test_overlap_is_the_document_of_the_command_line(self):
        study = cortado.overlap("all-gather", (16384, 3584, 8192), strategies=("serial", "ficco"))
        self.assertTrue(any("ficco" in str(v) or "hetero" in str(v) for v in study.values()), study.keys())

    def test_operations_take_any_buffer(self):
        comm = cortado.Communicator.join("package test", 0, 1)
        data = bytearray(b"abc")
        out = bytearray(3)
        comm.all_gather(data, out)
        self.assertEqual(out, data)
        with self.assertRaises(cortado.Error) as caught:
            comm.all_gather(data, bytearray(2))
        self.assertEqual(caught.exception.code, "runtime.arguments")


def load_tests(loader, tests, pattern):
    try:
        import numpy  # noqa: F401: the examples have arrays
        tests.addTests(doctest.DocTestSuite(cortado, extraglobs={"cortado": cortado}))
    except ImportError:
        print("no NumPy: the examples of the docstrings are not run", file=sys.stderr)
    return tests


if __name__ == "__main__":
    unittest.main()
