"""A server of reports that runs beside a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gravel.pipeline.report.server import ReportServer
from tests.pipeline.run_records import whole


@contextmanager
def running(server: ReportServer) -> Iterator[str]:
    """Serve in a thread; yields the address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write_record(root: Path, record: Mapping[str, Any]) -> Path:
    """Write `run.json` of a run that goes on in this process; returns its folder."""
    import os
    import socket

    folder = root / "runs" / str(record["run"])
    folder.mkdir(parents=True, exist_ok=True)
    written = whole({**record, "pid": os.getpid(), "host": socket.gethostname()})
    (folder / "run.json").write_text(json.dumps(written))
    return folder
