import { messageOf } from "@xfn/errors";
import { type RegistryAccess, readRegistryAccess, readRegistryHost } from "@xfn/oci-rootfs";
import type { EngineConfig } from "./engine-settings.ts";
import { type ImagePattern, parseImagePattern } from "./image-patterns.ts";
import type { OperatorPolicy } from "./operator-policy.ts";

/** Runner settings without known problems. */
export interface CheckedEngine {
  readonly policy: OperatorPolicy;
  readonly registries: RegistryAccess;
}

/**
 * Checks settings against each other and against the files that they name.
 *
 * @param say called for each problem
 */
export function checkEngine(
  config: EngineConfig,
  { allowNetwork, allowChroot }: Pick<OperatorPolicy, "allowNetwork" | "allowChroot">,
  say: (problem: string) => void,
): CheckedEngine {
  checkTogether(config, say);
  const registries = readRegistryAccess(config, say);
  const registry = config.registry === undefined ? undefined : readRegistryHost("--registry", config.registry, say);
  const policy: OperatorPolicy = {
    ...config,
    allowImages: config.allowImage.flatMap((pattern) => patternOf(pattern, registry, say) ?? []),
    allowNetwork,
    allowChroot,
    defaultRegistry: registry,
  };
  return { policy, registries };
}

function checkTogether(config: EngineConfig, say: (problem: string) => void): void {
  const { maxMemory, defaultMemory, maxCpu, defaultCpu } = config;
  if (defaultMemory !== undefined && maxMemory !== undefined && defaultMemory > maxMemory)
    say("--default-memory is more than --max-memory");
  if (defaultCpu !== undefined && maxCpu !== undefined && defaultCpu > maxCpu)
    say("--default-cpu is more than --max-cpu");
  if (config.maxServers !== undefined && config.maxServers < config.maxConcurrent)
    say("--max-servers is less than --max-concurrent: each call can need a server");
  const bound = config.warmPoolCount ?? config.warmPoolMemory ?? config.warmPoolIdle;
  if (config.warmPool === "off" && bound !== undefined)
    say("--warm-pool-count, --warm-pool-memory and --warm-pool-idle have no effect with --warm-pool=off: remove them");
}

function patternOf(
  text: string,
  registry: string | undefined,
  say: (problem: string) => void,
): ImagePattern | undefined {
  try {
    return parseImagePattern(text, registry);
  } catch (error) {
    say(`--allow-image: ${JSON.stringify(text)}: ${messageOf(error)}`);
    return undefined;
  }
}
