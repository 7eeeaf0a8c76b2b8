import type { RegistryAuth, RunOptions } from "@xfn/runner-contract";
import { MAX_CREDENTIAL_LENGTH, MAX_PULL_HEADER_BYTES } from "./limits.ts";
import { ImagePullConfig, ImagePullPolicy } from "./run-function.ts";
import { RunnerGrpcError } from "./runner-grpc-error.ts";

/** The options that control the pull of a call's image. */
export type PullOptions = Pick<RunOptions, "pullPolicy" | "auth">;

/** The request header with an `ImagePullConfig`, for calls whose message the runner does not read. */
export const PULL_KEY = "xfn-image-pull-bin";

/** The message for these options; undefined if none is set. */
export function pullConfigOf({ pullPolicy, auth }: PullOptions): ImagePullConfig | undefined {
  if (pullPolicy === undefined && auth === undefined) return undefined;
  return {
    pullPolicy: pullPolicy === undefined ? ImagePullPolicy.IMAGE_PULL_POLICY_UNSPECIFIED : POLICIES[pullPolicy],
    auth: auth && { ...NO_AUTH, ...auth },
  };
}

/** Reads and limits the options that a caller sent. @throws RunnerGrpcError `InvalidRequest` */
export function readPullConfig(config: ImagePullConfig | undefined): PullOptions {
  if (config === undefined) return {};
  const pullPolicy = policyOf(config.pullPolicy);
  const auth = config.auth && authOf(config.auth);
  return { ...(pullPolicy && { pullPolicy }), ...(auth && { auth }) };
}

/** {@link pullConfigOf} as the value of the header {@link PULL_KEY}. @throws RunnerGrpcError `InvalidRequest` */
export function pullHeaderOf(options: PullOptions): Buffer | undefined {
  const config = pullConfigOf(options);
  if (config === undefined) return undefined;
  const bytes = Buffer.from(ImagePullConfig.encode(config));
  if (bytes.length <= MAX_PULL_HEADER_BYTES) return bytes;
  const message = `the credentials of the image's registry have ${bytes.length} bytes, and a call of a package carries at most ${MAX_PULL_HEADER_BYTES}`;
  throw new RunnerGrpcError("InvalidRequest", message);
}

/** Reads the header {@link PULL_KEY}. @throws RunnerGrpcError `InvalidRequest` */
export function readPullHeader(value: unknown): PullOptions {
  return Buffer.isBuffer(value) ? readPullConfig(decode(value)) : {};
}

function decode(bytes: Buffer): ImagePullConfig {
  try {
    return ImagePullConfig.decode(bytes);
  } catch (cause) {
    throw new RunnerGrpcError("InvalidRequest", `${PULL_KEY} is not an ImagePullConfig: it cannot be decoded`, {
      cause,
    });
  }
}

const POLICIES = {
  IfNotPresent: ImagePullPolicy.IMAGE_PULL_POLICY_IF_NOT_PRESENT,
  Always: ImagePullPolicy.IMAGE_PULL_POLICY_ALWAYS,
  Never: ImagePullPolicy.IMAGE_PULL_POLICY_NEVER,
} as const;

type WireAuth = NonNullable<ImagePullConfig["auth"]>;

const NO_AUTH: WireAuth = { username: "", password: "", auth: "", identityToken: "", registryToken: "" };

function policyOf(policy: ImagePullPolicy): RunOptions["pullPolicy"] {
  switch (policy) {
    case ImagePullPolicy.IMAGE_PULL_POLICY_UNSPECIFIED:
      return undefined;
    case ImagePullPolicy.IMAGE_PULL_POLICY_IF_NOT_PRESENT:
      return "IfNotPresent";
    case ImagePullPolicy.IMAGE_PULL_POLICY_ALWAYS:
      return "Always";
    case ImagePullPolicy.IMAGE_PULL_POLICY_NEVER:
      return "Never";
    default:
      throw new RunnerGrpcError("InvalidRequest", `image_pull_config.pull_policy has no value ${String(policy)}`);
  }
}

function authOf(auth: WireAuth): RegistryAuth | undefined {
  const given: RegistryAuth = {};
  for (const key of ["username", "password", "auth", "identityToken", "registryToken"] as const) {
    if (auth[key] === "") continue;
    if (auth[key].length > MAX_CREDENTIAL_LENGTH) {
      const message = `image_pull_config.auth: ${key} has more than ${MAX_CREDENTIAL_LENGTH} characters`;
      throw new RunnerGrpcError("InvalidRequest", message);
    }
    given[key] = auth[key];
  }
  return Object.keys(given).length === 0 ? undefined : given;
}
