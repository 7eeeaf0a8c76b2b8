import { isLayoutName } from "@xfn/oci-rootfs/image-name";
import { DEFAULT_TIMEOUT_MS, type ResourceLimits, type RunOptions } from "@xfn/runner-contract";
import { RunnerGrpcError, type ServedRunOptions } from "@xfn/runner-grpc";
import { formatDuration } from "@xfn/units";
import type { EngineConfig } from "./engine-settings.ts";
import { type ImagePattern, normalImage } from "./image-patterns.ts";

type Limits = "maxTimeout" | "maxMemory" | "maxCpu" | "defaultMemory" | "defaultCpu" | "maxPids";

/** The operator's limits for calls. */
export interface OperatorPolicy extends Pick<EngineConfig, Limits | "allowOciLayouts" | "wasmOnly"> {
  /** Empty: all images are allowed. */
  readonly allowImages: readonly ImagePattern[];
  readonly allowNetwork: boolean;
  readonly allowChroot: boolean;
  readonly defaultRegistry: string | undefined;
}

export interface PermittedRun {
  readonly image: string;
  readonly options: RunOptions;
}

/**
 * Checks a call against the policy, and sets the limits that it leaves open.
 *
 * @param as whether the image is a function of FunctionIO, or a function package that serves gRPC
 * @throws RunnerGrpcError `PermissionDenied`, `InvalidRequest`
 */
export function permit(
  image: string,
  options: ServedRunOptions,
  policy: OperatorPolicy,
  as: "function" | "package" = "function",
): PermittedRun {
  const refuse = (why: string): RunnerGrpcError =>
    new RunnerGrpcError("PermissionDenied", `${image}: ${why}`, { image });
  const normal = normalImage(image, policy.defaultRegistry);
  const { caller, ...asked } = options;
  if (isLayoutName(normal.location) && caller.socket !== "path" && !policy.allowOciLayouts)
    throw refuse("this runner accepts oci: images only from callers on a path socket (--allow-oci-layouts)");
  if (policy.allowImages.length > 0 && !policy.allowImages.some((allows) => allows(normal)))
    throw refuse(`this runner's operator does not allow the image ${normal.location} (--allow-image)`);
  if (asked.network === "Accessible" && !policy.allowNetwork)
    throw refuse("this runner shares its network with no function (--allow-network)");
  if (asked.type === "Chroot" && !policy.allowChroot)
    throw refuse("this runner runs no function of type: Chroot, which it cannot isolate (--allow-chroot)");
  if (policy.wasmOnly && (as === "package" || asked.type === "Chroot"))
    throw refuse("this runner runs functions of type: Wasm alone (--wasm-only)");
  const { maxTimeout, maxMemory, maxCpu } = policy;
  if ((asked.timeoutMs ?? 0) > maxTimeout)
    throw refuse(`a timeout may be at most ${formatDuration(maxTimeout)} here (--max-timeout)`);
  if (maxMemory !== undefined && (asked.memoryBytes ?? 0) > maxMemory)
    throw refuse(`the memory limit may be at most ${maxMemory} bytes here (--max-memory)`);
  if (maxCpu !== undefined && (asked.cpus ?? 0) > maxCpu)
    throw refuse(`the cpu limit may be at most ${maxCpu} cores here (--max-cpu)`);
  const usual = usualLimits(policy);
  return {
    image: normal.name,
    options: {
      ...asked,
      ...(policy.wasmOnly && { type: "Wasm" as const }),
      timeoutMs: asked.timeoutMs ?? Math.min(DEFAULT_TIMEOUT_MS, maxTimeout),
      memoryBytes: asked.memoryBytes ?? usual.memoryBytes,
      cpus: asked.cpus ?? usual.cpus,
      pids: asked.pids ?? usual.pids,
    },
  };
}

/** The limits of a call that does not set any. */
export function usualLimits(policy: OperatorPolicy): ResourceLimits {
  const { defaultMemory, maxMemory, defaultCpu, maxCpu, maxPids: pids } = policy;
  return { memoryBytes: defaultMemory ?? maxMemory, cpus: defaultCpu ?? maxCpu, pids };
}
