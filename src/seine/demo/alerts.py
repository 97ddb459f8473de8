"""The demonstration of `make demo`: a script of 29 alerts and the generated transfers that it reads."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from seine.demo.fedwire import make_fedwire
from seine.demo.json_lines import write_json_lines

DESCRIPTIONS = {
    "large": "transfers above 1,000,000",
    "very_large": "transfers above 5,000,000",
    "round_sum": "round sums of at least 500,000",
    "just_below": "transfers just below the 10,000 that must be reported",
    "at_night": "transfers above 100,000 outside business hours",
    "to_haven": "transfers above 250,000 into a tax haven",
    "unexplained": "customer transfers above 400,000 for consulting or for no given reason",
    "watched_sender": "transfers from accounts while they are watched",
    "watched_receiver": "transfers to accounts while they are watched",
    "risky_bank": "transfers above 1,000,000 to a risky bank",
    "risky_corridor": "transfers above 1,000,000 from a safer bank to a risky one",
    "passed_on": "1,000,000 arrives and more than half of it leaves within 20 days",
    "passed_on_soon": "the same within 10 days",
    "passed_to_haven": "500,000 arrives and more than half of it leaves for a tax haven",
    "pass_through": "nearly all of what arrived leaves within 5 days",
    "round_trip": "money that returns to its sender",
    "watched_passed_on": "a watched account passes money on",
    "split_in_two": "money that leaves again in two parts",
    "three_hops": "nearly the same money moves on twice, each time within 5 days",
    "four_hops": "nearly the same money moves on three times",
    "circle": "money that returns to its sender by way of two others",
    "smurfing": "accounts that collect eight or more transfers just below 10,000",
    "smurfing_crowd": "the same, from eight or more different senders",
    "busy_banks": "banks that send three or more transfers above 2,000,000",
    "haven_flow": "what flows into each tax haven",
    "collected_and_sent": "an account that collected small transfers sends a large one",
    "suspects": "accounts that send to a tax haven, or are watched and send",
    "parked": "accounts that receive above 2,000,000 and send nothing large",
    "corridors": "pairs of countries between which more than 3,000,000 moved at once",
}


def write_demo(folder: str | Path, *, transfers: int = 40_000, seed: int = 7) -> Path:
    """Write the generated data and the script into a folder; returns the path of the script."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = make_fedwire(transfers, seed=seed)
    write_json_lines(made.transfers, folder / "transfers.jsonl")
    write_json_lines(made.banks, folder / "banks.jsonl")
    write_json_lines(made.watch_list, folder / "watchlist.jsonl")
    script = folder / "alerts.sql"
    script.write_text(
        files("seine.demo").joinpath("alerts.sql").read_text(encoding="utf-8"), encoding="utf-8"
    )
    return script
