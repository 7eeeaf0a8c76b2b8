import { type Image, ImageError, readImageFile } from "@xfn/oci-rootfs";
import { RunnerError } from "@xfn/runner-contract";
import { MAX_MODULE_BYTES } from "@xfn/wasm";

/**
 * The path of the WebAssembly module that an image runs; undefined for an image that runs a program. The platform of
 * the image, or the name of its entrypoint, identifies a module.
 */
export function modulePath({ config }: Pick<Image, "config">): string | undefined {
  const [path] = argumentsOf(config);
  if (path === undefined) return undefined;
  return config.architecture === "wasm" || path.endsWith(".wasm") ? path : undefined;
}

/** Reads the module of an image. @throws RunnerError `ImageInvalid` */
export function readModule({ config, layers }: Pick<Image, "config" | "layers">, path: string): Buffer {
  if (argumentsOf(config).length > 1)
    throw invalid(`its entrypoint ${path} has arguments, which modules do not get; use the config of the step`);
  let bytes: Buffer | undefined;
  try {
    bytes = readImageFile(layers, path.replace(/^\/+/, ""), MAX_MODULE_BYTES);
  } catch (error) {
    if (error instanceof ImageError && error.code === "InvalidConfig") throw invalid(error.message, error);
    if (!(error instanceof ImageError) || error.code !== "TooLarge") throw error;
    throw invalid(
      `its module ${path} has more than ${MAX_MODULE_BYTES} bytes; build it without debug information`,
      error,
    );
  }
  if (bytes === undefined) throw invalid(`it has no file ${path}, which is its entrypoint`);
  return bytes;
}

function argumentsOf({ config }: Image["config"]): string[] {
  return [...(config?.Entrypoint ?? []), ...(config?.Cmd ?? [])];
}

function invalid(message: string, cause?: unknown): RunnerError {
  return new RunnerError("ImageInvalid", message, { phase: "start", cause });
}
