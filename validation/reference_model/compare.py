"""Runs a case with the program and with the reference, and compares them."""
import csv
import json
import re
import struct
import subprocess

import cases
from cluster import Cluster

TIMES, WEIGHTS = 1e-6, 1e-5
ACCOUNTS = "compute_s", "wasted_s", "communication_s", "idle_s", "down_s", "bytes_sent", "bytes_received"
UNDECIDED = "undecided"
SECONDS = 120  # that a run may take, also under a sanitizer


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def weights_of(path):
    """The one tensor of a safetensors file."""
    raw = path.read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    tensors = {name: each for name, each in json.loads(raw[8:8 + length]).items() if name != "__metadata__"}
    begin, end = next(iter(tensors.values()))["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 4}f", raw[8 + length + begin:8 + length + end])


def accounts_of(reference):
    return (*ACCOUNTS, "checkpointing_s", "recovering_s") if reference.rollback else ACCOUNTS


def off(got, want, tolerance, least=1.0):
    return abs(float(got) - want) > tolerance * max(least, abs(want))


def kind_of(difference):
    """What differs, without the numbers."""
    return re.split(r"\d", difference)[0]


def compare(case, program, folder):
    """(features of the case, the first difference as one line or None). UNDECIDED is among the features where rounding decides."""
    out = folder / "out"
    scenario = cases.scenario_of(case, folder)
    ran = subprocess.run([program, "run", scenario, "--quiet", "--force", "--threads", "1", "--keep", "order,workers", "--out", out],
                         capture_output=True, text=True, check=False, timeout=SECONDS)
    if ran.returncode not in (0, 3):
        return set(), f"refused: {ran.stderr.strip()}"
    reference = reference_of(case)
    found = difference(out, reference)
    if found and too_close(case, reference, found):
        return features(case, reference) | {UNDECIDED}, None
    return features(case, reference), found


def reference_of(case):
    return Cluster(case, cases.scheme_of(case["scheme_name"])).run()


def difference(out, reference):
    summary = json.loads((out / "summary.json").read_text())
    return (of_contributions(rows_of(out / "order.csv"), reference) or of_versions(rows_of(out / "curve.csv"), reference)
            or of_weights(weights_of(out / "model.safetensors"), reference) or of_accounts(rows_of(out / "workers.csv"), reference)
            or of_sums(summary, reference) or of_attendance(summary, reference)
            or of_failures(summary, reference))


def too_close(case, reference, found):
    """Whether rounding decides: a compressed value lies at a jump, or a nudge of a picosecond becomes as large as what differs."""
    if found.startswith(("loss", "weights")):
        return reference.compression and reference.compression.compressor.close
    if found.startswith(("compute_s", "idle_s")) and reference.ends_in_a_tie():
        return True
    nudged = {**case, "workers": [{**worker, "latency": worker["latency"] + 1e-12} for worker in case["workers"]]}
    other = reference_of(nudged)
    return any(got[2:] != want[2:] or off(got[1], want[1], TIMES / 100) for got, want in zip(other.rows, reference.rows)) \
        or any(got[1:3] != want[1:3] for got, want in zip(other.versions, reference.versions)) \
        or any(off(getattr(got, name), getattr(want, name), TIMES / 10, 1e-2)
               for got, want in zip(other.workers, reference.workers) for name in ACCOUNTS)


def of_contributions(order, reference):
    lost = [row for row in order if row.get("lost") == "1"]
    order = [row for row in order if row.get("lost") != "1"]
    if len(lost) != (len(reference.rollback.lost_rows) if reference.rollback else 0):
        return f"lost contributions: program {len(lost)}, reference {len(reference.rollback.lost_rows)}"
    for k, (row, want) in enumerate(zip(order, reference.rows)):
        counted = tuple(int(row[name]) for name in ("update", "worker", "read_version", "batch", "steps", "samples"))
        if reference.case.get("rebalance"):  # whose sample of the pool is whose is decided by ties
            counted, want = counted[:3] + counted[4:], (*want[:4], *want[5:])
        if counted != (want[0], *want[2:]) or off(row["time_s"], want[1], TIMES, 1e-3):
            return f"contribution {k}: program {row}, reference {want}"
    if len(order) != len(reference.rows):
        return f"contributions: program {len(order)}, reference {len(reference.rows)}"
    return None


def of_versions(curve, reference):
    by_update = {int(row["update"]): row for row in curve if row.get("lost") != "1"}
    for update, (time, counted, sent, loss) in enumerate(reference.versions, 1):
        row = by_update.get(update)
        if row is None:
            return f"version {update}: the program has none"
        same = int(row["samples"]) == counted and int(row["bytes_sent"]) in reference.bytes_at(update, sent)
        if off(row["time_s"], time, TIMES, 1e-3) or not same:
            return f"version {update}: program {row}, reference: time {time}, samples {counted}, bytes {sent}"
        if off(row["train_loss"], loss, 4 * WEIGHTS):
            return f"loss of version {update}: program {row['train_loss']}, reference {loss}"
    return None


def of_weights(weights, reference):
    if any(off(got, want, WEIGHTS) for got, want in zip(weights, reference.latest.value)):
        return f"weights: program {weights}, reference {reference.latest.value}"
    return None


def of_accounts(rows, reference):
    for row, worker in zip(rows, reference.workers):
        for name in accounts_of(reference):
            if name == "bytes_sent" and int(row[name]) in reference.bytes_in_all(worker.bytes_sent, worker.rank):
                continue
            if off(row[name], getattr(worker, name), TIMES, 1e-2):
                return f"{name} of worker {worker.rank}: program {row[name]}, reference {getattr(worker, name)}"
    return None


def of_sums(summary, reference):
    for name, want in {"outcome": reference.outcome, "dropped_contributions": reference.dropped, "bytes_sent": reference.bytes_sent,
                       "bytes_received": reference.bytes_received, "bytes_lost": reference.bytes_lost}.items():
        if summary[name] != want and not (name in ("bytes_sent", "bytes_lost") and summary[name] in reference.bytes_in_all(want)):
            return f"{name}: program {summary[name]}, reference {want}"
    if reference.rollback and (summary["rollbacks"], summary["lost_updates"]) != (reference.rollback.rollbacks, reference.rollback.lost_versions):
        return f"rollbacks: program {summary['rollbacks']}, {summary['lost_updates']} lost, reference {reference.rollback.rollbacks}, " \
               f"{reference.rollback.lost_versions}"
    return None


def of_failures(summary, reference):
    """Of the units of processes, and dated crashes beside them."""
    if not reference.case["processes"]:
        return None
    want = reference.failures.count
    return f"failures: program {summary['failures']}, reference {want}" if summary["failures"] != want else None


def of_attendance(summary, reference):
    attendance = reference.attendance
    if not attendance:
        return None
    lost, present = attendance.lost, attendance.share(reference.clock.now)
    if summary["clients_lost"] == lost and not off(summary["clients_present"], present, TIMES):
        return None
    return f"clients: program {summary['clients_lost']} lost, {summary['clients_present']} present, reference {lost}, {present}"


def features(case, reference):
    """What the case had, as words for the table."""
    optimizer = case["optimizer"]
    had = {fault["kind"] if fault["kind"] != "crash" or "restart_after" in fault else "crash for good" for fault in case["faults"]}
    had |= {process["kind"] for process in case["processes"]}
    return had | {name for name, there in {
        "dropped": reference.dropped, "momentum": optimizer.get("momentum") or optimizer["kind"].startswith("ad"),
        "schedule": case["schedule"], "clipped": case["clip"], "compressed": case["compression"], "absences": case.get("availability"),
        "rolled back": reference.rollback and reference.rollback.rollbacks,
        "waits": case["on_failure"] == "wait" and case["faults"]}.items() if there}
