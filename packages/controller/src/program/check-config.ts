import { existsSync } from "node:fs";
import type * as RunnerGrpc from "@xfn/runner-grpc";
import type { StartConfig } from "./start-settings.ts";

/** Checks settings against each other and against the files that they name. @returns the problems, one line each */
export function checkConfig(config: StartConfig): string[] {
  const problems: string[] = [];
  if (config.kubeconfig !== undefined && !existsSync(config.kubeconfig))
    problems.push(`--kubeconfig: there is no file ${config.kubeconfig}`);
  if (config.apiBurst < config.apiRate) problems.push("--api-burst must not be less than --api-rate");
  const given = [
    config.runnerTokenFile,
    config.runnerTlsCa,
    config.runnerTlsCert,
    config.runnerTlsKey,
    config.runnerTlsServerName,
  ];
  if (!config.enableCompositionFunctions) {
    if (given.some((value) => value !== undefined))
      problems.push("--runner-* settings require --enable-composition-functions");
  } else if ((config.runnerTlsCert === undefined) !== (config.runnerTlsKey === undefined))
    problems.push("--runner-tls-cert and --runner-tls-key must be set together");
  return problems;
}

/** The options of the runner client. */
export function runnerOptions(config: StartConfig): RunnerGrpc.RunnerClientOptions {
  const {
    runnerTlsCa: caFile,
    runnerTlsCert: certFile,
    runnerTlsKey: keyFile,
    runnerTlsServerName: serverName,
  } = config;
  const tls = {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
    ...(serverName === undefined ? {} : { serverName }),
  };
  return {
    endpoint: config.runner,
    ...(config.runnerTokenFile === undefined ? {} : { tokenFile: config.runnerTokenFile }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  };
}

/**
 * Checks the runner's endpoint and files by creating a client, without calling the runner.
 *
 * @param grpc the package, which is loaded only if functions are enabled
 */
export function checkRunner(
  config: StartConfig,
  { createRunnerClient, RunnerSetupError }: Pick<typeof RunnerGrpc, "createRunnerClient" | "RunnerSetupError">,
): string[] {
  // checkConfig reports this problem.
  if ((config.runnerTlsCert === undefined) !== (config.runnerTlsKey === undefined)) return [];
  try {
    createRunnerClient(runnerOptions(config)).close();
    return [];
  } catch (error) {
    if (error instanceof RunnerSetupError) return [`--runner ${config.runner}: ${error.message}`];
    throw error;
  }
}
