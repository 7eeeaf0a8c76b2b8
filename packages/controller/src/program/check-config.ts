import { existsSync } from "node:fs";
import type * as RunnerGrpc from "@xfn/runner-grpc";
import type { StartConfig } from "./start-settings.ts";

/** Holds settings against each other and against the files that they name. @returns what is wrong, a line each */
export function checkConfig(config: StartConfig): string[] {
  const problems: string[] = [];
  if (config.kubeconfig !== undefined && !existsSync(config.kubeconfig))
    problems.push(`--kubeconfig: there is no file ${config.kubeconfig}`);
  if (config.apiBurst < config.apiRate) problems.push("--api-burst is less than --api-rate: give the same, or more");
  const given = [
    config.runnerTokenFile,
    config.runnerTlsCa,
    config.runnerTlsCert,
    config.runnerTlsKey,
    config.runnerTlsServerName,
  ];
  if (!config.enableCompositionFunctions) {
    if (given.some((value) => value !== undefined))
      problems.push("--runner-*: no functions are run without --enable-composition-functions");
  } else if ((config.runnerTlsCert === undefined) !== (config.runnerTlsKey === undefined))
    problems.push("--runner-tls-cert and --runner-tls-key go together: give both, or none");
  return problems;
}

/** How the runner of a configuration is reached. */
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
 * Whether a runner can be reached as the settings say, as far as can be told without it: a client that is made and not used has read
 * its files and looked at its endpoint.
 *
 * @param grpc the package, which is loaded only where it is needed
 */
export function checkRunner(
  config: StartConfig,
  { createRunnerClient, RunnerSetupError }: Pick<typeof RunnerGrpc, "createRunnerClient" | "RunnerSetupError">,
): string[] {
  // One without the other is told of already.
  if ((config.runnerTlsCert === undefined) !== (config.runnerTlsKey === undefined)) return [];
  try {
    createRunnerClient(runnerOptions(config)).close();
    return [];
  } catch (error) {
    if (error instanceof RunnerSetupError) return [`--runner ${config.runner}: ${error.message}`];
    throw error;
  }
}
