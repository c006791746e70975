"""nbtext serve beside FastAPI and scikit-learn, with the model of 20 Newsgroups, under the load of
wrk.

    python tests/benchmarks/serve.py [SECONDS]

The two services take turns on the same machine. All share its cores with wrk. The bars hold on two
cores that do nothing else; where others use them, the ratio to the peer and the processor's time of
a request still mean something.
"""

import http.client
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from material import Material, labeled_files

NBTEXT = [sys.executable, "-m", "nbtext"]
PEERS = Path(__file__).parent / "peers"
CONNECTIONS = 32
BATCH = 100
ROUNDS = 3
N_REQUESTS = 500_000  # after which memory should be what it was
N_REPLACED = 100
N_KILLS = 10
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Service:
    """A running service."""

    name: str
    process: subprocess.Popen[bytes]
    port: int

    @property
    def cpu_seconds(self) -> float:
        """The processor's time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    @property
    def memory(self) -> float:
        """Its resident memory in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000


@dataclass(frozen=True)
class Load:
    """What wrk measured: requests a second, the 99th percentile in ms, failed requests, and CPU of
    a request in µs.
    """

    rate: float
    p99: float
    n_failed: int
    cpu: float
    n_requests: int


@contextmanager
def running(name: str, command: list[str]) -> Iterator[Service]:
    """Start a service on a free port, and end it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([each.replace("PORT", str(port)) for each in command])
    try:
        while process.poll() is None:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            time.sleep(0.1)
        if process.poll() is not None:
            raise SystemExit(f"{name} has ended with status {process.returncode}")
        yield Service(name, process, port)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        process.wait()


def load(service: Service, bodies: Path, seconds: float, connections: int = CONNECTIONS) -> Load:
    """Have wrk send these bodies for some time."""
    before = service.cpu_seconds
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", str(PEERS / "wrk.lua")]
    done = subprocess.run(
        [*command, f"http://127.0.0.1:{service.port}/v1/predict"],
        env={**os.environ, "BODIES": str(bodies)},
        capture_output=True,
        text=True,
        check=True,
    )
    number, micros, p99, failed = map(int, done.stdout.partition("RESULT ")[2].split()[:4])
    cpu = (service.cpu_seconds - before) / max(1, number) * 1e6
    return Load(number / (micros / 1e6), p99 / 1000, failed, cpu, number)


def settle(service: Service) -> None:
    """Wait until a service has finished what its clients no longer wait for."""
    before = -1.0
    while service.cpu_seconds - before > 0.02:
        before = service.cpu_seconds
        time.sleep(0.5)


def write_bodies(folder: Path, texts: list[str]) -> tuple[Path, Path]:
    """The bodies of single texts, and of batches."""
    single = folder / "single.jsonl"
    batches = folder / "batches.jsonl"
    documents = [{"text": text} for text in texts]
    single.write_text("".join(json.dumps(each) + "\n" for each in documents))
    parts = [
        documents[start : start + BATCH] for start in range(0, len(documents) - BATCH + 1, BATCH)
    ]
    batches.write_text("".join(json.dumps(part) + "\n" for part in parts))
    return single, batches


def report(what: str, value: str, bar: str, is_met: bool | None) -> None:
    outcome = "" if is_met is None else "met" if is_met else "MISSED"
    print(f"{what:<52} {value:>40}   {bar:<24} {outcome}", flush=True)  # noqa: T201


def compare(
    services: list[Service], bodies: Path, seconds: float, n_texts: int
) -> dict[str, list[Load]]:
    """Load each service in turn, some rounds long, and print what came of it."""
    loads: dict[str, list[Load]] = {service.name: [] for service in services}
    for _ in range(ROUNDS):
        for service in services:
            loads[service.name].append(
                load(service, bodies, seconds, CONNECTIONS if n_texts == 1 else 4)
            )
            settle(service)
    for name, found in loads.items():
        best = max(found, key=lambda each: each.rate)
        value = f"{best.rate * n_texts:,.0f} texts/s, p99 {best.p99:.1f} ms, {best.cpu / n_texts:.0f} µs CPU/text"
        is_own = name == "nbtext"
        is_single = n_texts == 1
        met = (best.rate >= 3000 and best.p99 <= 20) if is_single else best.rate * n_texts >= 20_000
        bar = "≥ 3,000/s, p99 ≤ 20 ms" if is_single else "≥ 20,000/s"
        failed = sum(each.n_failed for each in found)
        what = f"{name}, {'single texts, 32 connections' if is_single else 'batches of 100, 4 connections'}"
        report(what, value, bar if is_own else "", (met and not failed) if is_own else None)
    if len(loads) > 1:
        own, peer = (max(each.rate for each in found) for found in loads.values())
        cpu, peer_cpu = (min(each.cpu for each in found) for found in loads.values())
        report(
            "  ratio to the peer",
            f"{own / peer:.1f} times the rate, 1/{peer_cpu / cpu:.1f} of the CPU",
            "",
            None,
        )
    return loads


def measure_memory(service: Service, bodies: Path, seconds: float) -> None:
    """Memory after many requests, against memory after the first tenth of them."""
    number = 0
    first = 0.0
    while number < N_REQUESTS:
        number += load(service, bodies, seconds).n_requests
        first = first or (service.memory if number >= N_REQUESTS / 10 else 0.0)
    growth = service.memory - first
    report(
        f"memory after {number:,} requests",
        f"{first:.1f} MB, then {growth:+.1f} MB",
        "no growth (5 MB)",
        growth < 5,
    )


def measure_reload(service: Service, bodies: Path, model: Path) -> None:
    """Failed requests while the model file is replaced."""
    result: list[Load] = []
    thread = threading.Thread(
        target=lambda: result.append(load(service, bodies, N_REPLACED * 0.6 + 2))
    )
    thread.start()
    content = model.read_bytes()
    for number in range(N_REPLACED):
        temporary = model.with_suffix(f".{number}")
        temporary.write_bytes(content)
        temporary.replace(model)
        time.sleep(0.6)
    thread.join()
    loaded = metric(service, 'nbtext_model_reloads_total{model="news",result="loaded"}')
    found = result[0]
    value = f"{found.n_failed} of {found.n_requests:,} failed, {loaded:.0f} reloads, p99 {found.p99:.1f} ms"
    report(
        f"model replaced {N_REPLACED} times",
        value,
        "0 failed",
        found.n_failed == 0 and loaded >= N_REPLACED * 0.9,
    )


def metric(service: Service, name: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)), 0.0)


def measure_kills(model: Path, folder: Path) -> None:
    """Feedback that was confirmed and is not in the file after kill -9."""
    confirmed: set[str] = set()

    def send(service: Service, prefix: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", service.port)
        with suppress(OSError, http.client.HTTPException):
            for number in range(1_000_000):
                name = f"{prefix}.{number}"
                body = json.dumps({"id": name, "text": "a car", "label": "rec.autos"})
                connection.request(
                    "POST", "/v1/models/news/feedback", body, {"content-type": "application/json"}
                )
                if connection.getresponse().read() == b'{"stored":1}':
                    confirmed.add(name)
        connection.close()

    command = [
        *NBTEXT,
        "serve",
        "-q",
        "-m",
        f"news={model}",
        "--port",
        "PORT",
        "--feedback-dir",
        str(folder),
    ]
    for turn in range(N_KILLS):
        with running("nbtext", command) as service:
            threads = [
                threading.Thread(target=send, args=(service, f"{turn}.{client}"))
                for client in range(8)
            ]
            for thread in threads:
                thread.start()
            time.sleep(1 + turn / N_KILLS)
            service.process.kill()
            for thread in threads:
                thread.join()
    lines = (folder / "news.jsonl").read_bytes().splitlines()
    stored = set()
    for line in lines:
        with suppress(ValueError):
            stored.add(json.loads(line)["id"])
    lost = len(confirmed - stored)
    report(
        f"feedback, killed {N_KILLS} times",
        f"{lost} of {len(confirmed):,} confirmed lines lost",
        "0 lost",
        lost == 0,
    )


def main(seconds: float) -> None:
    """Run all measurements."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed: apt-get install wrk")
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        material = Material(Path(scratch))
        texts = [text for _, text, _ in labeled_files(material.newsgroups("test"))][::5]
        single, batches = write_bodies(folder, texts)
        model = folder / "news.joblib"
        subprocess.run(
            [*NBTEXT, "train", str(material.newsgroups("train")), "-q", "-o", str(model)],
            check=True,
        )
        own = [*NBTEXT, "serve", "-q", "-m", f"news={model}", "--port", "PORT"]
        peer = [
            sys.executable,
            str(PEERS / "fastapi_service.py"),
            str(material.newsgroups("train")),
            "PORT",
        ]
        has_peer = all(importlib.util.find_spec(name) for name in ("fastapi", "sklearn"))
        with running("nbtext", own) as service:
            if has_peer:
                with running("FastAPI + scikit-learn", peer) as other:
                    compare([service, other], single, seconds, 1)
                    compare([service, other], batches, seconds, BATCH)
            else:
                report("FastAPI + scikit-learn", "not installed", "", None)
                compare([service], single, seconds, 1)
                compare([service], batches, seconds, BATCH)
            measure_reload(service, single, model)
            measure_memory(service, single, seconds)
        measure_kills(model, folder)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
