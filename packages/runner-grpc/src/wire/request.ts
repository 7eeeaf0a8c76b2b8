import type { Duration } from "@xfn/protobuf";
import type { RunOptions } from "@xfn/runner-contract";
import { MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import { formatBytes, formatCores, parseBytes, parseMillicores } from "@xfn/units";
import { encodeLarge, type MessagePieces } from "./large-message.ts";
import { MAX_IMAGE_LENGTH, MAX_TIMEOUT_MS } from "./limits.ts";
import { pullConfigOf, readPullConfig } from "./pull-config.ts";
import { NetworkPolicy, type ResourceLimits, type RunFunctionConfig, RunFunctionRequest } from "./run-function.ts";
import { RunnerGrpcError } from "./runner-grpc-error.ts";

export interface RequestedRun {
  readonly image: string;
  readonly input: Uint8Array;
  readonly options: RunOptions;
}

/**
 * Encodes a call.
 *
 * @throws RunnerGrpcError `InvalidRequest`, `InputTooLarge`
 */
export function encodeRequest(image: string, input: Uint8Array, options: RunOptions): MessagePieces {
  checkImage(image);
  checkInput(input.length, image, options.step);
  const { timeoutMs, network, memoryBytes, cpus, pids } = options;
  if (pids !== undefined) throw invalid("pids cannot be sent to a runner: set --max-pids of xfn-runner instead");
  const config: RunFunctionConfig = {};
  if (timeoutMs !== undefined) config.timeout = duration(timeoutMs);
  if (network !== undefined) {
    const policy =
      network === "Accessible" ? NetworkPolicy.NETWORK_POLICY_RUNNER : NetworkPolicy.NETWORK_POLICY_ISOLATED;
    config.network = { policy };
  }
  if (memoryBytes !== undefined || cpus !== undefined) {
    const memory = memoryBytes === undefined ? "" : formatBytes(positive("memoryBytes", memoryBytes));
    const cpu = cpus === undefined ? "" : formatCores(positive("cpus", cpus));
    config.resources = { limits: { memory, cpu } };
  }
  const imagePullConfig = pullConfigOf(options);
  const settings: RunFunctionRequest = {
    image: "",
    input: NOTHING,
    runFunctionConfig: config,
    ...(imagePullConfig && { imagePullConfig }),
  };
  const before = RunFunctionRequest.encode({ image, input: NOTHING });
  return encodeLarge(before, INPUT_FIELD, input, RunFunctionRequest.encode(settings));
}

const INPUT_FIELD = 2;
const OUTPUT_FIELD = 1;
const NOTHING: Uint8Array = new Uint8Array();

/** Encodes the output of a function. */
export function encodeResponse(output: Uint8Array): MessagePieces {
  return encodeLarge(NOTHING, OUTPUT_FIELD, output, NOTHING);
}

/**
 * Decodes and checks a call. Limits every value that a caller controls.
 *
 * @throws RunnerGrpcError `InvalidRequest`, `InputTooLarge`
 */
export function decodeRequest(bytes: Uint8Array): RequestedRun {
  const request = decode(bytes);
  checkImage(request.image);
  checkInput(request.input.length, request.image);
  const options: RunOptions = readPullConfig(request.imagePullConfig);
  const config = request.runFunctionConfig;
  if (config?.timeout !== undefined) options.timeoutMs = milliseconds(config.timeout);
  switch (config?.network?.policy) {
    case undefined:
    case NetworkPolicy.NETWORK_POLICY_UNSPECIFIED:
      break;
    case NetworkPolicy.NETWORK_POLICY_ISOLATED:
      options.network = "Isolated";
      break;
    case NetworkPolicy.NETWORK_POLICY_RUNNER:
      options.network = "Accessible";
      break;
    default:
      throw invalid(`run_function_config.network.policy has no value ${String(config?.network?.policy)}`);
  }
  if (config?.resources?.limits !== undefined) readLimits(config.resources.limits, options);
  return { image: request.image, input: request.input, options };
}

function decode(bytes: Uint8Array): RunFunctionRequest {
  try {
    return RunFunctionRequest.decode(bytes);
  } catch (cause) {
    throw new RunnerGrpcError("InvalidRequest", "the request is not a RunFunctionRequest: it cannot be decoded", {
      cause,
    });
  }
}

function readLimits(limits: ResourceLimits, options: RunOptions): void {
  if (limits.memory !== "") {
    const bytes = parseBytes(limits.memory);
    if (bytes === undefined) throw invalid('…limits.memory is not a positive quantity of bytes, such as "128Mi"');
    options.memoryBytes = bytes;
  }
  if (limits.cpu !== "") {
    const thousandths = parseMillicores(limits.cpu);
    if (thousandths === undefined) throw invalid('…limits.cpu is not a positive quantity of cores, such as "250m"');
    options.cpus = thousandths / 1000;
  }
}

function duration(ms: number): Duration {
  if (!(ms > 0 && ms <= MAX_TIMEOUT_MS))
    throw invalid(`timeoutMs must be greater than 0 and at most ${MAX_TIMEOUT_MS}`);
  const whole = Math.ceil(ms);
  return { seconds: BigInt(Math.floor(whole / 1000)), nanos: (whole % 1000) * 1_000_000 };
}

function milliseconds({ seconds, nanos }: Duration): number {
  const ms = Math.ceil(Number(seconds) * 1000 + nanos / 1_000_000);
  if (!(ms > 0 && ms <= MAX_TIMEOUT_MS)) {
    throw invalid(`run_function_config.timeout must be greater than 0 s and at most ${MAX_TIMEOUT_MS / 1000} s`);
  }
  return ms;
}

function positive(name: string, value: number): number {
  if (!(value > 0 && value <= Number.MAX_SAFE_INTEGER)) throw invalid(`${name} must be a positive number`);
  return value;
}

/** Checks the image name that a caller sent. @throws RunnerGrpcError `InvalidRequest` */
export function checkImage(image: string): void {
  if (image === "") throw invalid("image is empty: it must name an OCI image");
  if (image.length > MAX_IMAGE_LENGTH) throw invalid(`image has more than ${MAX_IMAGE_LENGTH} characters`);
  // The name appears in messages and logs, where a line break would forge a line. U+FFFD: the bytes were not UTF-8.
  if (/[\p{Cc}\p{Zl}\p{Zp}\uFFFD]/u.test(image)) throw invalid("image contains control characters, or is not UTF-8");
}

export function checkInput(length: number, image: string, step?: string): void {
  if (length <= MAX_PAYLOAD_BYTES) return;
  const message = `the input of ${image} has ${length} bytes; the maximum is ${MAX_PAYLOAD_BYTES}`;
  throw new RunnerGrpcError("InputTooLarge", message, { image, step });
}

function invalid(what: string): RunnerGrpcError {
  return new RunnerGrpcError("InvalidRequest", what);
}
