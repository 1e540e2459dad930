"""`simulate`: a simulated fleet that sends records to a running service."""

import asyncio
import json
import random
import sys

import click
from rich.console import Console
from rich.progress import Progress

from longwire import simulate
from longwire.cli.base import json_flag, print_result, setting_flags
from longwire.process import startup
from longwire.settings import Settings


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
@setting_flags("data")
@json_flag
def simulate_command(
    number: int,
    rate: float,
    seconds: float,
    seed: int | None,
    url: str | None,
    client_id: str | None,
    client_secret: str | None,
    chosen: Settings,
    as_json: bool,
) -> None:
    """Send records of a simulated fleet to a running service."""
    known = _load_operator_file(chosen)
    url = url or known.get("baseUrl")
    client_id = client_id or known.get("clientId")
    client_secret = client_secret or known.get("clientSecret")
    if not url or not client_id or not client_secret:
        raise click.UsageError(
            "there is no operator.json: give --url, --client-id, --client-secret"
        )
    seed = random.getrandbits(32) if seed is None else seed

    async def run(progress: Progress) -> simulate.SimulationResult:
        token = await simulate.get_token(url, client_id, client_secret)
        fleet = await simulate.create_fleet(url, token, number, seed)
        task = progress.add_task("reporting", total=simulate.count_reports(rate, seconds))
        return await simulate.run_simulation(
            url,
            token,
            fleet,
            rate=rate,
            seconds=seconds,
            seed=seed,
            progress=lambda count: progress.advance(task, count),
        )

    try:
        watched = sys.stderr.isatty() and not as_json
        with Progress(console=Console(stderr=True), disable=not watched) as progress:
            result = asyncio.run(run(progress))
    except simulate.SimulationError as error:
        raise startup.StartupError(str(error)) from error
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


def _load_operator_file(chosen: Settings) -> dict[str, str]:
    path = chosen.data / "operator.json"
    return json.loads(path.read_text()) if path.exists() else {}
