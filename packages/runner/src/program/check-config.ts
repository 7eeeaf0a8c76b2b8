import { createRunnerServer, type RunnerServerOptions, RunnerSetupError } from "@xfn/runner-grpc";
import { type CheckedEngine, checkEngine } from "../service/check-engine.ts";
import type { ServeConfig } from "./serve-settings.ts";

/** The addresses of a runner, and the authentication of its callers. */
export type ListenOptions = Omit<RunnerServerOptions, "run" | "onCall" | "onRefused">;

/** A configuration without known problems. */
export interface CheckedConfig extends CheckedEngine {
  readonly listen: ListenOptions;
}

/**
 * Checks settings against each other and against the files that they name. @returns also the problems, one on each line
 */
export function checkConfig(config: ServeConfig): { checked: CheckedConfig; problems: string[] } {
  const problems: string[] = [];
  const say = (problem: string): void => {
    if (!problems.includes(problem)) problems.push(problem);
  };
  checkTogether(config, say);
  const engine = checkEngine(config, config, say);
  const listen = listenOptions(config);
  for (const address of config.address) checkAddress({ ...listen, addresses: [address] }, address, say);
  return { checked: { listen, ...engine }, problems };
}

function checkTogether(config: ServeConfig, say: (problem: string) => void): void {
  const { tlsCert, tlsKey, tlsClientCa } = config;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    say("--tls-cert and --tls-key belong together: set both, or neither");
  if (tlsClientCa !== undefined && tlsCert === undefined && tlsKey === undefined)
    say("--tls-client-ca requires --tls-cert and --tls-key, because clients send certificates only over TLS");
  if (config.insecureNoAuth && config.allowNetwork)
    say(
      "--insecure-no-auth and --allow-network exclude each other: a function in the runner's network could call the runner",
    );
  if (config.allowChroot) checkChroot(config, say);
}

function checkChroot(config: ServeConfig, say: (problem: string) => void): void {
  if (config.insecureNoAuth)
    say("--insecure-no-auth and --allow-chroot exclude each other: a function in a chroot could call the runner");
  else if (!config.allowNetwork)
    say("--allow-chroot requires --allow-network: a function in a chroot has the runner's network");
  const { maxMemory, defaultMemory, maxCpu, defaultCpu, maxPids } = config;
  if ((maxMemory ?? defaultMemory ?? maxCpu ?? defaultCpu ?? maxPids) !== undefined) {
    say(
      "--allow-chroot excludes --max-memory, --default-memory, --max-cpu, --default-cpu and --max-pids: a chroot enforces no limits",
    );
  }
}

function listenOptions(config: ServeConfig): ListenOptions {
  const { tlsCert: certFile, tlsKey: keyFile, tlsClientCa: caFile } = config;
  return {
    addresses: config.address,
    insecureNoAuth: config.insecureNoAuth,
    insecurePlaintext: config.insecurePlaintext,
    maxConcurrent: config.maxConcurrent,
    maxQueued: config.maxQueued,
    reflection: config.reflection,
    tokenFile: config.tokenFile,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile, caFile },
  };
}

// Creating a server reads its files and checks its addresses without listening on them.
function checkAddress(listen: ListenOptions, address: string, say: (problem: string) => void): void {
  try {
    createRunnerServer({ ...listen, run: () => Promise.reject(new Error("not served")) });
  } catch (error) {
    if (!(error instanceof RunnerSetupError)) throw error;
    say(inFlags(error, address));
  }
}

// The library's message names its own options; translate them to flags.
function inFlags(error: RunnerSetupError, address: string): string {
  switch (error.code) {
    case "InvalidEndpoint":
      return `--address: ${error.message}`;
    case "AuthenticationRequired":
      return (
        `--address ${address}: every process in the runner's network can reach it, functions included: set --token-file, or for TCP ` +
        "--tls-cert, --tls-key and --tls-client-ca; or listen on unix:/PATH; or set --insecure-no-auth"
      );
    case "PlaintextRefused":
      return (
        `--address ${address}: tokens would cross a network in the clear: set --tls-cert and --tls-key, or ` +
        "--insecure-plaintext if the network itself encrypts"
      );
    case "TokenUnusable":
      return `--token-file: ${error.message}`;
    case "CertificateUnusable":
      return `--tls-cert, --tls-key, --tls-client-ca: ${error.message}`;
    default:
      return error.message;
  }
}
