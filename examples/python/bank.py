"""A client in Python, on what protoc makes of proto/linchpin/v1/linchpin.proto.

    python bank.py ADDRESS [CA_FILE]    with CA_FILE over TLS, with the token in LINCHPIN_TOKEN

docs/languages.md tells how to run it, and docs/api.md what the calls do.
"""

import os
import queue
import sys

import grpc
from grpc_status import rpc_status

from linchpin.v1 import linchpin_pb2 as pb
from linchpin.v1 import linchpin_pb2_grpc as rpc


def connect(address, ca_file=None):
    """Gives a channel. It may be used by all threads; a program needs one."""
    if ca_file is None:
        return grpc.insecure_channel(address)
    with open(ca_file, "rb") as f:
        credentials = grpc.ssl_channel_credentials(f.read())
    token = grpc.access_token_call_credentials(os.environ["LINCHPIN_TOKEN"])
    return grpc.secure_channel(address, grpc.composite_channel_credentials(credentials, token))


class Failed(Exception):
    """A transaction that has not committed, unless the kind is OutcomeUnknown."""

    def __init__(self, detail):
        super().__init__(f"{detail.kind}: {detail.message}")
        self.detail = detail


def detail_of(error):
    """What linchpin says about a failed call; None if it was made by somebody else."""
    status = rpc_status.from_call(error)
    detail = pb.ErrorDetail()
    if status is not None and any(d.Unpack(detail) for d in status.details):
        return detail
    return None


def execute(kv, *ops):
    """Runs a transaction that is known beforehand: one message each way."""
    try:
        return kv.Execute(pb.ExecuteRequest(ops=ops), timeout=10).results
    except grpc.RpcError as error:
        detail = detail_of(error)
        if detail is None:
            raise
        raise Failed(detail) from error


class Transaction:
    """Interactive transactions, one after the other on one stream."""

    def __init__(self, kv):
        self.steps = queue.SimpleQueue()
        self.responses = kv.Transact(iter(self.steps.get, None), timeout=60)

    def step(self, **step):
        self.steps.put(pb.TransactRequest(**step))
        response = next(self.responses)
        if response.WhichOneof("response") == "failed":
            raise Failed(response.failed)
        return response

    def execute(self, *ops):
        return self.step(execute=pb.ExecuteStep(ops=ops)).executed.results

    def close(self):
        self.steps.put(None)


def update(kv, function):
    """Runs a function in a transaction, and again when that has lost against others. A
    retry has the same id: it keeps its age, and the oldest one wins."""
    tx = Transaction(kv)
    begin = pb.BeginStep()
    try:
        while True:
            begun = tx.step(begin=begin).begun
            try:
                function(tx)
                return tx.step(commit=pb.CommitStep()).committed
            except Failed as failed:
                if not failed.detail.retryable:
                    raise
                begin = pb.BeginStep(txn_id=begun.txn_id, attempt=begun.attempt + 1)
    finally:
        tx.close()


def get(key, for_update=False):
    return pb.Op(get=pb.GetOp(key=key, for_update=for_update))


def add(key, delta, return_value=False):
    return pb.Op(add=pb.AddOp(key=key, delta=delta, return_value=return_value))


def put(key, value, **condition):
    """With if_absent=True, if_exists=True, if_value or if_version it is conditional. protobuf
    drops what is None, and an unconditional put would be left."""
    if None in condition.values():
        raise ValueError("the condition is None; for an empty value pass b''")
    return pb.Op(put=pb.PutOp(key=key, value=value, **condition))


def transfer(tx):
    """Takes 7 from Alice and gives them to Bob, if she has them."""
    [alice] = tx.execute(get(b"bank/alice", for_update=True))
    if alice.number < 7:
        raise ValueError("not enough money")  # the stream ends, and with it the transaction
    tx.execute(add(b"bank/alice", -7), add(b"bank/bob", 7))


def main(address, ca_file=None):
    with connect(address, ca_file) as channel:
        kv = rpc.KVStub(channel)
        results = execute(kv, put(b"motto", b"hello"), add(b"bank/alice", 100, return_value=True))
        print("alice has", results[1].number)
        try:
            execute(kv, put(b"motto", b"goodbye", if_absent=True))
        except Failed as failed:
            print(f"{failed.detail.kind}: the motto is {failed.detail.current.value.decode()}")
        update(kv, transfer)
        for page in kv.Scan(pb.ScanRequest(start=b"bank/", end=b"bank0"), timeout=10):
            for entry in page.entries:
                print(entry.key.decode(), entry.number)


if __name__ == "__main__":
    main(*sys.argv[1:])
