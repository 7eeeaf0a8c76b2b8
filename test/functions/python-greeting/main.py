"""A function with the official Python SDK: it composes a ConfigMap with the XR's greeting."""

import os

import click
import grpc
from crossplane.function import logging, resource, response, runtime
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Greeting(grpcv1.FunctionRunnerService):
    async def RunFunction(self, req: fnv1.RunFunctionRequest, _: grpc.aio.ServicerContext) -> fnv1.RunFunctionResponse:
        rsp = response.to(req)
        name = req.observed.composite.resource["spec"]["name"]
        greeting = {"greeting": f"{os.environ.get('GREETING', '')} {name}"}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "data": greeting}
        resource.update(rsp.desired.resources["greeting"], config)
        response.normal(rsp, f"greeted {name}")
        return rsp


@click.command()
@click.option("--insecure", is_flag=True)
def main(insecure: bool) -> None:
    logging.configure(level=logging.Level.INFO)
    certificates = os.environ.get("TLS_SERVER_CERTS_DIR")
    creds = runtime.load_credentials(certificates) if certificates else None
    runtime.serve(Greeting(), "0.0.0.0:9443", creds=creds, insecure=insecure)


if __name__ == "__main__":
    main()
