import { tlsClientOptions } from "@xfn/program/settings";
import type * as RunnerGrpc from "@xfn/runner-grpc";
import type * as FunctionDirectory from "../functions/function-directory.ts";
import type { StartConfig } from "./start-settings.ts";

/** The options of the runner client. */
export function runnerOptions(config: StartConfig): RunnerGrpc.RunnerClientOptions {
  const { runner: endpoint, maxOutput: maxOutputBytes, runnerTokenFile: tokenFile } = config;
  return { endpoint, maxOutputBytes, tokenFile, tls: tlsClientOptions("runnerTls", config) };
}

/** The options of the client of another runner. The token is for `--runner` alone. */
export function allowedRunnerOptions(config: StartConfig, endpoint: string): RunnerGrpc.RunnerClientOptions {
  return { ...runnerOptions({ ...config, runnerTokenFile: undefined }), endpoint };
}

/** The certificates for functions with an `https://` endpoint. */
export function certificateFiles(config: StartConfig): FunctionDirectory.FunctionCertificateFiles {
  return { ca: config.functionTlsCa, cert: config.functionTlsCert, key: config.functionTlsKey };
}
