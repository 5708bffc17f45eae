"""``workbench synthesize``: the release of a synthetic table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.cli.command import Context
from workbench.cli.kind_command import Asked, KindCommand
from workbench.params.amounts import counted
from workbench.release.kinds import kind
from workbench.release.release_path import Released
from workbench.release.synthetic.synthesis_work import synthesis_setting
from workbench.synth import synthesiser
from workbench.synth.resources import needs_of


class _Synthesize(KindCommand):
    counts = True

    def about(self, asked: Asked) -> str:
        way, setting = synthesis_setting(asked.plan, asked.epsilon, asked.rows, asked.request, asked.delta)
        return f"this takes about {needs_of(way, setting, asked.work.request['rows']).words()}"

    def facts(self, asked: Asked, done: Released | None, context: Context) -> dict[str, Any]:
        assert done is not None
        return {key: done.document["request"][key] for key in ("method", "target", "rows")}

    def what(self, result: Mapping[str, Any]) -> str:
        method = result["method"]
        return f"{counted(result['rows'], 'synthetic row')} ({synthesiser(method).title}, --method {method})"


COMMAND = _Synthesize(kind("synthetic")).command()
