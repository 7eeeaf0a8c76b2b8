"""A client and a server of the runner contract with gRPC for Python (C core): like test/interop/go, without TLS.

peer.py call OPTIONS   a client: reads orders, one a line, and writes the outcome of each
peer.py serve OPTIONS  a server: writes its address, then reports about waiting calls

OPTIONS, orders and results are JSON; test/interop/peer.ts has their types. The messages come from the descriptors in the
file XFN_DESCRIPTORS, which buf builds from proto/.
"""
import json
import os
import sys
import threading
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.json_format import MessageToDict

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
SERVICE = "apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService"
PREFIX = "type.googleapis.com/google.rpc."
PATTERN = b"0123456789abcdefg"
# More than our client accepts (MAX_MESSAGE_BYTES).
TOO_LARGE = 101 << 20

pool = descriptor_pool.DescriptorPool()
with open(os.environ["XFN_DESCRIPTORS"], "rb") as descriptors:
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors.read()).file:
        pool.Add(file)


def message_class(name):
    descriptor = pool.FindMessageTypeByName(name)
    # The first exists since protobuf 4.22, the second until 5.
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


Request = message_class("apiextensions.fn.proto.v1alpha1.RunFunctionRequest")
Response = message_class("apiextensions.fn.proto.v1alpha1.RunFunctionResponse")
Status = message_class("google.rpc.Status")

writing = threading.Lock()


def write(line):
    with writing:
        print(json.dumps(line), flush=True)


def details_of(trailers):
    for key, value in trailers or ():
        if key == "grpc-status-details-bin":
            for detail in Status.FromString(value).details:
                name = detail.type_url[len(PREFIX) :]
                yield {name: MessageToDict(message_class(f"google.rpc.{name}").FromString(detail.value))}


def finished(order, request):
    def write_result(done):
        result = {"id": order["id"], "code": done.code().value[0], "text": done.details() or "", "bytes": 0, "same": False}
        if done.code() == grpc.StatusCode.OK:
            output = done.result() if order.get("health") else done.result().output
            result.update(bytes=len(output), same=request is not None and output == request.input)
            if order.get("health"):
                # HealthCheckResponse { ServingStatus status = 1; }
                result["output"] = {b"\x08\x01": "SERVING", b"\x08\x02": "NOT_SERVING"}.get(output, output.hex())
            elif len(output) < 4096:
                result["output"] = output.decode()
        else:
            result["details"] = list(details_of(done.trailing_metadata()))
        write(result)

    return write_result


def call(options):
    with grpc.insecure_channel(options["address"], options=OPTIONS) as channel:
        run = channel.unary_unary(f"/{SERVICE}/RunFunction", Request.SerializeToString, Response.FromString)
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        calls = {}
        for line in sys.stdin:
            order = json.loads(line)
            if order.get("cancel"):
                calls[order["id"]].cancel()
                continue
            metadata = [("authorization", f"Bearer {order['token']}")] if order.get("token") else []
            timeout = order.get("timeoutMs", 60_000) / 1000
            if order.get("health"):
                request = None
                future = check.future(b"", metadata=metadata, timeout=timeout)
            else:
                request = request_of(order)
                future = run.future(request, metadata=metadata, timeout=timeout)
            calls[order["id"]] = future
            future.add_done_callback(finished(order, request))
        # Ignore calls that are still running.
        for future in calls.values():
            future.cancel()


def request_of(order):
    size = order.get("bytes", 0)
    input = (PATTERN * (size // len(PATTERN) + 1))[:size] if size else order.get("input", "").encode()
    request = Request(image=order["image"], input=input)
    if order.get("settings"):
        request.image_pull_config.pull_policy = 2
        request.image_pull_config.auth.username = "u"
        request.image_pull_config.auth.password = "p"
        request.run_function_config.timeout.FromMilliseconds(1500)
        request.run_function_config.network.policy = 2
        request.run_function_config.resources.limits.memory = "128Mi"
        request.run_function_config.resources.limits.cpu = "250m"
    return request


def run_function(request, context):
    headers = {key: value for key, value in context.invocation_metadata()}
    if request.image == "describe":
        step = headers.get("xfn-step-bin", b"").decode()
        asked = {"request": MessageToDict(request), "authorization": headers.get("authorization", ""), "step": step}
        return Response(output=json.dumps(asked).encode())
    if request.image == "unknown":
        raise RuntimeError("cannot run container: exit status 1")
    if request.image == "precondition":
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no such thing")
    if request.image == "details":
        context.set_trailing_metadata([("grpc-status-details-bin", detailed())])
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "x:1: it needed more memory than it may have")
    if request.image == "large":
        return Response(output=bytes(TOO_LARGE))
    if request.image == "wait":
        ended = threading.Event()
        context.add_callback(ended.set)
        write({"started": "wait"})
        ended.wait()
        write({"ended": "the call is over"})
    return Response(output=request.input)


def detailed():
    status = Status(code=8, message="x:1: it needed more memory than it may have")
    metadata = {"phase": "run", "exitCode": "137", "retryable": "true"}
    info = message_class("google.rpc.ErrorInfo")(reason="OUT_OF_MEMORY", domain="runner.xfn", metadata=metadata)
    retry = message_class("google.rpc.RetryInfo")()
    retry.retry_delay.FromMilliseconds(1500)
    debug = message_class("google.rpc.DebugInfo")(detail="the end of stderr")
    for detail in (info, retry, debug):
        status.details.add(type_url=PREFIX + detail.DESCRIPTOR.name, value=detail.SerializeToString())
    return status.SerializeToString()


def serve(options):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=OPTIONS)
    handler = grpc.unary_unary_rpc_method_handler(run_function, Request.FromString, Response.SerializeToString)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {"RunFunction": handler})])
    port = server.add_insecure_port(options["address"])
    server.start()
    write({"address": f"127.0.0.1:{port}"})
    sys.stdin.read()
    server.stop(0).wait()


{"call": call, "serve": serve}[sys.argv[1]](json.loads(sys.argv[2]))
