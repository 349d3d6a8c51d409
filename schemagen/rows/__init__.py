"""Rows by the million: sources read one window at a time, outputs that survive being killed, and runs between them.

`schemagen batch` is a command line for this package; `schemagen.Rows` is for engines that do their own reading and
writing.
"""

from schemagen.rows.formats import Format, format_of
from schemagen.rows.output import Output, StandardOutput
from schemagen.rows.record import RunKey, is_text, value_check
from schemagen.rows.row import Result, Row, Shard
from schemagen.rows.run import Answer, RowsRun, Summary, answers_of
from schemagen.rows.sources import Columns, Sample, Source, open_source
from schemagen.rows.template import PromptTemplate

__all__ = [
    "Answer",
    "Columns",
    "Format",
    "Output",
    "PromptTemplate",
    "Result",
    "Row",
    "RowsRun",
    "RunKey",
    "Sample",
    "Shard",
    "Source",
    "StandardOutput",
    "Summary",
    "answers_of",
    "format_of",
    "is_text",
    "open_source",
    "value_check",
]
