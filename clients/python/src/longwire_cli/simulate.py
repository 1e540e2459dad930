"""`simulate`: a simulated fleet that sends records to a running service."""

import asyncio
import json
import random
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from longwire_cli import simulation
from longwire_cli.terminal import json_flag, print_result


@click.command("simulate")
@click.option("--devices", "number", type=click.IntRange(min=1), default=100, show_default=True)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    default=50.0,
    show_default=True,
    help="records a second, of all devices together",
)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=30.0, show_default=True)
@click.option("--seed", type=int, default=None, help="repeat the same fleet and reports")
@click.option("--url", default=None, help="of the service; from operator.json by default")
@click.option("--client-id", default=None, help="from operator.json by default")
@click.option("--client-secret", default=None, help="from operator.json by default")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="LONGWIRE_DATA",
    default="longwire-data",
    show_default=True,
    help="the folder with operator.json",
)
@json_flag
def simulate_command(
    number: int,
    rate: float,
    seconds: float,
    seed: int | None,
    url: str | None,
    client_id: str | None,
    client_secret: str | None,
    data: Path,
    as_json: bool,
) -> None:
    """Send records of a simulated fleet to a running service."""
    known = _load_operator_file(data)
    url = url or known.get("baseUrl")
    client_id = client_id or known.get("clientId")
    client_secret = client_secret or known.get("clientSecret")
    if not url or not client_id or not client_secret:
        raise click.UsageError(
            "there is no operator.json: give --url, --client-id, --client-secret"
        )
    seed = random.getrandbits(32) if seed is None else seed

    async def run(progress: Progress) -> simulation.SimulationResult:
        token = await simulation.get_token(url, client_id, client_secret)
        fleet = await simulation.create_fleet(url, token, number, seed)
        task = progress.add_task("reporting", total=simulation.count_reports(rate, seconds))
        return await simulation.run_simulation(
            url,
            token,
            fleet,
            rate=rate,
            seconds=seconds,
            seed=seed,
            progress=lambda count: progress.advance(task, count),
        )

    watched = sys.stderr.isatty() and not as_json
    with Progress(console=Console(stderr=True), disable=not watched) as progress:
        result = asyncio.run(run(progress))
    print_result(
        {
            "sent": result.sent,
            "failed": result.failed,
            "seconds": round(result.seconds, 3),
            "rate": round(result.rate, 1),
            "p50Ms": round(result.percentile_ms(0.5), 2),
            "p99Ms": round(result.percentile_ms(0.99), 2),
        },
        as_json,
        result.summarize(),
    )


def _load_operator_file(data: Path) -> dict[str, str]:
    path = data / "operator.json"
    return json.loads(path.read_text()) if path.exists() else {}
