"""The other side of the runner contract, of gRPC's C core by way of Python.

peer.py call TARGET TOKEN IMAGE   calls a runner with the input "input", and prints what came back, as JSON
peer.py serve TARGET              is a runner: echoes, reports what it was asked for, fails for some images

The messages are generated from proto/ into the folder that PYTHONPATH names.
"""
import json
import sys
from concurrent import futures

import grpc
from apiextensions.fn.proto.v1alpha1 import run_function_pb2 as pb
from apiextensions.fn.proto.v1alpha1 import run_function_pb2_grpc as service
from google.protobuf.json_format import MessageToDict
from google.rpc import error_details_pb2, status_pb2

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def call(target, token, image):
    metadata = [("authorization", f"Bearer {token}")] if token else []
    request = pb.RunFunctionRequest(image=image, input=b"input")
    request.run_function_config.timeout.FromMilliseconds(1500)
    request.run_function_config.resources.limits.memory = "128Mi"
    request.run_function_config.resources.limits.cpu = "250m"
    with grpc.insecure_channel(target, options=OPTIONS) as channel:
        try:
            answer = service.ContainerizedFunctionRunnerServiceStub(channel).RunFunction(request, metadata=metadata, timeout=20)
            return {"output": answer.output.decode()}
        except grpc.RpcError as error:
            result = {"status": error.code().name, "text": error.details()}
            for key, value in error.trailing_metadata() or ():
                if key == "grpc-status-details-bin":
                    for detail in status_pb2.Status.FromString(value).details:
                        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.RetryInfo, error_details_pb2.DebugInfo):
                            message = kind()
                            if detail.Unpack(message):
                                result[kind.__name__] = MessageToDict(message)
            return result


class Runner(service.ContainerizedFunctionRunnerServiceServicer):
    def RunFunction(self, request, context):
        if request.image == "unknown":
            raise RuntimeError("as a server in another language fails")
        if request.image == "precondition":
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no such thing")
        if request.image == "describe":
            asked = MessageToDict(request)
            return pb.RunFunctionResponse(output=json.dumps(asked, sort_keys=True).encode())
        return pb.RunFunctionResponse(output=request.input)


def serve(target):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=OPTIONS)
    service.add_ContainerizedFunctionRunnerServiceServicer_to_server(Runner(), server)
    port = server.add_insecure_port(target)
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(0).wait()


if sys.argv[1] == "call":
    print(json.dumps(call(*sys.argv[2:])))
else:
    serve(sys.argv[2])
