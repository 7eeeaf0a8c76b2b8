import { existsSync } from "node:fs";
import { tlsClientOptions } from "@xfn/program/settings";
import type * as RunnerGrpc from "@xfn/runner-grpc";
import type * as FunctionDirectory from "../functions/function-directory.ts";
import { allowedRunnerOptions, runnerOptions } from "./client-options.ts";
import { checkRunnerSettings, IN_PROCESS } from "./runner-settings.ts";
import type { StartConfig } from "./start-settings.ts";

/** Checks settings against each other and against the files that they name. @returns the problems, one line each */
export function checkConfig(config: StartConfig): string[] {
  const problems: string[] = [];
  if (config.functionSubstrate !== "Runner" && !config.enableFunctionRuntimes)
    problems.push("--function-substrate requires --enable-function-runtimes: only FunctionRuntimes have a substrate");
  for (const one of ["Upgrades", "Downgrades"] as const)
    if (config[`enableDependencyVersion${one}`] && !config.enablePackages)
      problems.push(
        `--enable-dependency-version-${one.toLowerCase()} requires --enable-packages: it updates their dependencies`,
      );
  if (config.admissionWebhook !== undefined && !config.enableUsages)
    problems.push("--admission-webhook requires --enable-usages: the webhook only protects objects in use");
  if (config.enableOperations && !config.enableCompositionFunctions)
    problems.push("--enable-operations requires --enable-composition-functions: Operations run functions");
  if (config.enableProviderDeletionProtection) problems.push(...checkProtection(config));
  if (config.kubeconfig !== undefined && !existsSync(config.kubeconfig))
    problems.push(`--kubeconfig: there is no file ${config.kubeconfig}`);
  if (config.apiBurst < config.apiRate) problems.push("--api-burst must not be less than --api-rate");
  problems.push(...checkPackages(config), ...checkRunnerSettings(config, config.enableCompositionFunctions));
  if (!config.enableCompositionFunctions) {
    if (config.runnerTokenFile !== undefined || tlsClientOptions("runnerTls", config) !== undefined)
      problems.push("--runner-* settings require --enable-composition-functions");
    if (config.debugRecordings !== undefined)
      problems.push("--debug-recordings requires --enable-composition-functions: it records what functions do");
    if (config.enablePipelineInspector)
      problems.push("--enable-pipeline-inspector requires --enable-composition-functions: it shows what functions do");
    if (config.function.length > 0) problems.push("--function requires --enable-composition-functions");
  } else if ((config.runnerTlsCert === undefined) !== (config.runnerTlsKey === undefined))
    problems.push("--runner-tls-cert and --runner-tls-key must be set together");
  return problems;
}

/** The flags without which Providers cannot be protected from deletion. */
function checkProtection(config: StartConfig): string[] {
  const flags = {
    "enable-packages": config.enablePackages,
    "enable-custom-to-managed-resource-conversion": config.enableCustomToManagedResourceConversion,
    "enable-usages": config.enableUsages,
    "admission-webhook": config.admissionWebhook !== undefined,
  };
  return Object.entries(flags)
    .filter(([, isSet]) => !isSet)
    .map(([flag]) => `--enable-provider-deletion-protection requires --${flag}`);
}

/** Whether the controller reads packages at registries. */
export function readsPackages({ enablePackages, enableFunctionRuntimes }: StartConfig): boolean {
  return enablePackages || enableFunctionRuntimes;
}

/** Checks the settings of packages without reading the files that they name. */
function checkPackages(config: StartConfig): string[] {
  if (readsPackages(config)) {
    if (config.enableCompositionFunctions) return [];
    const flags = {
      "enable-packages": config.enablePackages,
      "enable-function-runtimes": config.enableFunctionRuntimes,
    };
    const enabled = Object.entries(flags).filter(([, isEnabled]) => isEnabled);
    return enabled.map(([flag]) => `--${flag} requires --enable-composition-functions`);
  }
  if (config.runner === IN_PROCESS) return [];
  const { insecureRegistry, mirror, registryCa, trustedRealm } = config;
  const flags = {
    "insecure-registry": insecureRegistry,
    mirror,
    "registry-ca": registryCa,
    "trusted-realm": trustedRealm,
  };
  return Object.entries(flags)
    .filter(([, values]) => values.length > 0)
    .map(
      ([flag]) =>
        `--${flag} requires --enable-packages, --enable-function-runtimes or --runner in-process: only these read from registries`,
    );
}

/**
 * Checks the sources of functions, and the files for their endpoints.
 *
 * @param endpointOf of the module that connects to functions, which is loaded only if they are enabled
 */
export function checkFunctions(
  config: StartConfig,
  { endpointOf }: Pick<typeof FunctionDirectory, "endpointOf">,
): string[] {
  const { functionTlsCa, functionTlsCert, functionTlsKey } = config;
  const problems: string[] = [];
  for (const [index, { name, source }] of config.function.entries()) {
    if (config.function.findIndex((other) => other.name === name) < index)
      problems.push(`--function: ${name} is given twice; a Function has one source`);
    try {
      endpointOf(source);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      problems.push(`--function ${name}: ${error.message}`);
    }
  }
  if ((functionTlsCert === undefined) !== (functionTlsKey === undefined))
    problems.push("--function-tls-cert and --function-tls-key must be set together");
  for (const path of [functionTlsCa, functionTlsCert, functionTlsKey]) {
    if (path !== undefined && !existsSync(path)) problems.push(`--function-tls-*: there is no file ${path}`);
  }
  return problems;
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
  const problem = (flag: string, options: RunnerGrpc.RunnerClientOptions): string[] => {
    try {
      createRunnerClient(options).close();
      return [];
    } catch (error) {
      if (error instanceof RunnerSetupError) return [`--${flag} ${options.endpoint ?? ""}: ${error.message}`];
      throw error;
    }
  };
  return [
    ...(config.runner === IN_PROCESS ? [] : problem("runner", runnerOptions(config))),
    ...config.allowedRunners.flatMap((one) => problem("allowed-runners", allowedRunnerOptions(config, one))),
  ];
}
