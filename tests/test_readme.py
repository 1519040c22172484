"""What the README shows must run."""

import re

from tests import house


def test_the_example_runs(capsys):
    text = (house.ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 10, "the README promises ten lines"
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  # our own text, run to show that it runs
    assert capsys.readouterr().out.strip()
