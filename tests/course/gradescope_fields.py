"""What a results.json may contain, as Gradescope documents it in "Autograder Specifications"
(gradescope-autograders.readthedocs.io)."""

VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}
FORMAT = {"text", "html", "simple_format", "md", "ansi"}

TOP = {"score": (int, float), "execution_time": (int, float), "output": str,
       "output_format": FORMAT, "test_output_format": FORMAT,
       "test_name_format": FORMAT, "visibility": VISIBILITY, "stdout_visibility": VISIBILITY,
       "extra_data": dict, "tests": list, "leaderboard": list}
TEST = {"score": (int, float), "max_score": (int, float), "status": {"passed", "failed"},
        "name": str, "name_format": FORMAT, "number": str, "output": str, "output_format": FORMAT,
        "tags": list, "visibility": VISIBILITY, "extra_data": dict}


def validate(results):
    """AssertionError unless Gradescope takes it."""
    assert isinstance(results, dict)
    _fields(results, TOP, "results")
    assert "score" in results or results.get("tests"), "no score and no tests"
    for i, test in enumerate(results.get("tests", [])):
        assert isinstance(test, dict)
        _fields(test, TEST, f"tests[{i}]")
        assert "score" in results or "score" in test, f"tests[{i}] has no score"
        if "max_score" in test:
            assert 0 <= test.get("score", 0) <= test["max_score"], f"tests[{i}]: score"
        assert all(isinstance(tag, str) for tag in test.get("tags", []))


def _fields(given, known, where):
    for name, value in given.items():
        assert name in known, f"{where}: Gradescope has no field {name}"
        kind = known[name]
        if isinstance(kind, set):
            assert value in kind, f"{where}.{name}: {value}"
        else:
            assert isinstance(value, kind) and not isinstance(value, bool), f"{where}.{name}"
