import { ImageError } from "../base/errors.ts";
import type { ImageConfig } from "../image/manifest.ts";
import { readImageFile } from "./read-image.ts";
import type { Image } from "./store.ts";
import { type ProcessUser, resolveUser, type UserFiles } from "./user-files.ts";

/** The process of an image, with the names of the OCI runtime specification. */
export interface ProcessConfig {
  /** Entrypoint, then command. */
  readonly args: readonly string[];
  /** `NAME=value`. Starts with a default PATH, which a PATH of the image overrides. */
  readonly env: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  readonly user: ProcessUser;
  /** Docker's `Hostname`, an extension of the image specification; absent if the image has none. */
  readonly hostname?: string;
}

const DEFAULT_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Legitimate files have a few KiB. Parsing so many takes this thread some 20 ms. */
const MAX_USER_FILE_BYTES = 128 * 1024;

/** The kernel's limit (`__NEW_UTS_LEN`). The runtime's error for a longer name would not mention the image. */
const MAX_HOSTNAME_BYTES = 64;

/** A cache, because an image's config never changes and reading its accounts takes many system calls. */
const known = new WeakMap<ImageConfig, ProcessConfig>();

/**
 * Returns the process of an image. Ignores annotations and labels, because `run.oci.*` ones would be instructions to
 * the OCI runtime.
 *
 * @throws ImageError NoEntrypoint; InvalidConfig for NUL bytes and unknown users
 */
export async function processConfig(image: Pick<Image, "name" | "config" | "layers">): Promise<ProcessConfig> {
  const cached = known.get(image.config);
  if (cached !== undefined) return cached;
  try {
    const config = read(image);
    known.set(image.config, config);
    return config;
  } catch (error) {
    throw ImageError.from(error, { image: image.name });
  }
}

function read({ config, layers }: Pick<Image, "config" | "layers">): ProcessConfig {
  const { Entrypoint, Cmd, Env, WorkingDir, User, Hostname } = config.config ?? {};
  const args = [...(Entrypoint ?? []), ...(Cmd ?? [])];
  if (args.length === 0)
    throw new ImageError("NoEntrypoint", "the image has neither entrypoint nor command: there is nothing to run");
  const env = [DEFAULT_PATH, ...(Env ?? [])];
  const cwd = WorkingDir === undefined || WorkingDir === null || WorkingDir === "" ? "/" : absolute(WorkingDir);
  for (const [what, values] of [
    ["argument", args],
    ["environment variable", env],
    ["working directory", [cwd]],
    ["host name", [Hostname ?? ""]],
  ] as const) {
    // The kernel would silently truncate the string.
    if (values.some((value) => value.includes("\0")))
      throw new ImageError("InvalidConfig", `NUL byte in the ${what} of the image`);
  }
  if (Hostname && Buffer.byteLength(Hostname) > MAX_HOSTNAME_BYTES)
    throw new ImageError("InvalidConfig", `the image's host name is longer than ${MAX_HOSTNAME_BYTES} bytes`);
  const user = resolveUser(User ?? "", () => readUserFiles(layers));
  return { args, env, cwd, user, ...(Hostname && { hostname: Hostname }) };
}

function absolute(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

function readUserFiles(layers: readonly string[]): UserFiles {
  const read = (path: string): string | undefined => readImageFile(layers, path, MAX_USER_FILE_BYTES)?.toString("utf8");
  return { passwd: read("etc/passwd"), group: read("etc/group") };
}
