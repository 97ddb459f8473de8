"""Generated hospital admissions: few keys, correlated columns, patients who come back.

They differ from transfers (`transfers.py`) in shape: joins are by keys of few values or by patient, no row
leads to another key, conditions let most rows pass, columns depend on one another, and a day is an instant.

Cites: ARGUS 7.1 (the database Med; Differs: its records are not public, these are made up)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, FloatArray, IntArray
from seine.demo.alerts import money

SPAN_DAYS = 360
FIRST_DAY = np.datetime64("2026-01-01")
HOSPITALS, DIAGNOSES = 80, 300
WARDS = ("medicine", "surgery", "cardiology", "oncology", "maternity", "children", "psychiatry", "intensive")
PAYERS = ("public", "private", "employer", "none")
SOURCES = ("emergency", "referral", "transfer", "newborn")
OUTCOMES = ("home", "rehabilitation", "transferred", "left", "died")
_WARD_SHARE = (0.30, 0.22, 0.13, 0.09, 0.10, 0.08, 0.05, 0.03)
_PAYER_SHARE = (0.55, 0.20, 0.21, 0.04)
_SOURCE_SHARE = (0.52, 0.34, 0.08, 0.06)
_OUTCOME_SHARE = (0.80, 0.10, 0.05, 0.02, 0.03)
_SEVERITY_SHARE = (0.45, 0.35, 0.15, 0.05)
_ADMISSIONS_A_PATIENT = 4
_READMITTED = 0.3  # the share of admissions that follow another one of the same patient
_DAYS_TO_READMISSION = 15.0
_TIME = pa.timestamp("us", tz="UTC")

DECLARATION = """\
CREATE STREAM admission (
    adm_id BIGINT, patient BIGINT, age INT, hospital INT, ward STRING, diagnosis INT, severity INT,
    charge DECIMAL(14,2), days INT, ts TIMESTAMP, adm_date DATE,
    payer STRING, source STRING, outcome STRING)
  TIMESTAMP BY ts WINDOW INTERVAL '60' DAY LATENESS INTERVAL '1' HOUR
  FROM '{folder}/admission' FORMAT PARQUET;
"""


def make_admissions(count: int, seed: int = 11) -> pa.Table:
    """The admissions in the order of event time; the same for the same arguments.

    >>> table = make_admissions(1_000, seed=1)
    >>> table.num_rows, table["adm_id"][0].as_py()
    (1000, 1)
    """
    random = np.random.default_rng(seed)
    patient, diagnosis, time = _stays(random, count)
    order = np.argsort(time, kind="stable")
    patient, diagnosis, time = patient[order], diagnosis[order], time[order]
    instant = (FIRST_DAY + time.astype("timedelta64[D]")).astype("datetime64[us]")  # records know the day
    severity = random.choice(4, count, p=_SEVERITY_SHARE) + 1
    columns = {
        "adm_id": np.arange(1, count + 1),
        "patient": patient,
        "age": ((patient * 7_919) % 97).astype(np.int32),
        "hospital": _hospital(random, patient),
        "ward": _words(random, WARDS, _WARD_SHARE, count),
        "diagnosis": diagnosis.astype(np.int32),
        "severity": severity.astype(np.int32),
        "charge": money(_charges(random, severity)),
        "days": (1 + random.geometric(1.0 / (1 + 2 * severity))).astype(np.int32),
        "ts": pa.array(instant, _TIME),
        "adm_date": pa.array(instant.astype("datetime64[D]"), pa.date32()),
        "payer": _words(random, PAYERS, _PAYER_SHARE, count),
        "source": _words(random, SOURCES, _SOURCE_SHARE, count),
        "outcome": _words(random, OUTCOMES, _OUTCOME_SHARE, count),
    }
    return pa.table(columns)


def _stays(random: np.random.Generator, count: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Patients, diagnoses and days; some admissions are of a patient of another one, soon after it."""
    again = int(count * _READMITTED)
    first = count - again
    patient = random.integers(0, max(50, count // _ADMISSIONS_A_PATIENT), first)
    diagnosis = random.choice(DIAGNOSES, first, p=_zipf(DIAGNOSES))
    time = random.uniform(0, SPAN_DAYS, first)
    before = random.integers(0, first, again)
    same = random.random(again) < 0.5
    other = random.choice(DIAGNOSES, again, p=_zipf(DIAGNOSES))
    later = np.minimum(time[before] + random.exponential(_DAYS_TO_READMISSION, again), SPAN_DAYS)
    return (
        np.concatenate([patient, patient[before]]),
        np.concatenate([diagnosis, np.where(same, diagnosis[before], other)]),
        np.concatenate([time, later]),
    )


def _hospital(random: np.random.Generator, patient: IntArray) -> AnyArray:
    """Most patients go to the hospital of their town."""
    home = patient % HOSPITALS
    elsewhere = random.choice(HOSPITALS, len(patient), p=_zipf(HOSPITALS))
    return np.where(random.random(len(patient)) < 0.8, home, elsewhere).astype(np.int32)


def _charges(random: np.random.Generator, severity: IntArray) -> FloatArray:
    """Log-normal, and four times as much for each degree of severity."""
    charges: FloatArray = np.clip(random.lognormal(np.log(1_500), 0.8, len(severity)), 50, 1e7)
    return charges * 4.0 ** (severity - 1)


def _zipf(count: int) -> FloatArray:
    weight: FloatArray = 1.0 / (np.arange(count, dtype=np.float64) + 5.0)
    shares: FloatArray = weight / weight.sum()
    return shares


def _words(
    random: np.random.Generator, words: tuple[str, ...], shares: tuple[float, ...], count: int
) -> pa.Array:
    return pa.array(words).take(pa.array(random.choice(len(words), count, p=shares)))
