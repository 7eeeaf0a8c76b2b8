import { buildFunction, type FunctionTarget } from "@xfn/function-build";
import { ImageError } from "@xfn/oci-rootfs";
import {
  formatLayoutName,
  layoutPath,
  parseLayoutName,
  parseReference,
  type Reference,
} from "@xfn/oci-rootfs/image-name";
import { ExitCode } from "@xfn/program/exit-code";
import { oneLine } from "@xfn/program/terminal-text";
import { usageError } from "../errors/cli-error.ts";
import { keyValues, platformList } from "../flags/flag-values.ts";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { explainImageError } from "../store/explain-image-error.ts";
import { openImageStore } from "../store/open-store.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { pullProgress } from "../terminal/pull-progress.ts";

/** Flags of `xfn build`, as commander parsed them. */
export interface BuildFlags extends RegistryFlags {
  readonly tag: string;
  readonly output?: string;
  readonly base?: string;
  readonly platform?: readonly string[];
  readonly label?: readonly string[];
  readonly annotation?: readonly string[];
  readonly sbom?: boolean;
  readonly entrypoint?: string;
  readonly noCheck?: boolean;
  readonly pull?: "IfNotPresent" | "Always" | "Never";
  readonly registry?: string;
  readonly cacheDir?: string;
}

/** `xfn build`: builds an image from a folder. Prints `NAME@DIGEST`. */
export async function runBuild(path: string, flags: BuildFlags, terminal: Output): Promise<number> {
  const name = imageName(flags);
  const registries = registryOptions(flags);
  const platforms = platformList(flags.platform);
  const labels = keyValues("--label", flags.label);
  const annotations = keyValues("--annotation", flags.annotation);
  const work = async (output: Output, signal: AbortSignal): Promise<number> => {
    const store = await openImageStore(flags.cacheDir);
    const note = (message: string): void => output.note(`xfn: ${oneLine(message)}`);
    const images = { ...registries, signal, pullPolicy: flags.pull, defaultRegistry: flags.registry };
    const onProgress = pullProgress(output);
    const targets: FunctionTarget[] = [];
    for (const platform of platforms.length === 0 ? [undefined] : platforms) {
      if (flags.base === undefined) targets.push({ platform });
      else {
        const base = await store.image(flags.base, { ...images, platform, onProgress }).catch((error: unknown) => {
          throw explainImageError(error);
        });
        targets.push({ platform, base });
      }
    }
    const built = await buildFunction({
      path,
      name,
      store,
      signal,
      targets,
      check: flags.noCheck !== true,
      labels,
      annotations,
      sbom: flags.sbom === true,
      onNote: note,
      entrypoint: flags.entrypoint,
    });
    await output.product(`${flags.tag}@${built.digest}\n`);
    return ExitCode.ok;
  };
  return interruptible((signal) =>
    withElapsedTime(terminal, `building ${oneLine(path, 200)}`, (output) => work(output, signal)),
  );
}

/**
 * The destination of the image. A layout gets the tag of `--tag` unless `--output` names one, because skopeo and umoci
 * find images by tags. Checked before the build, which may take a minute.
 */
function imageName({ tag, output }: BuildFlags): string {
  if (tag.includes("@"))
    throw usageError(`-t requires a name without a digest, which the build computes, not ${JSON.stringify(tag)}`);
  const reference = referenceOf(tag);
  if (output === undefined) return tag;
  if (layoutPath(output) === undefined)
    throw usageError(`-o requires oci:DIR or oci:DIR:TAG, not ${JSON.stringify(output)}`);
  const layout = parseLayoutName(output);
  return layout.tag === undefined ? formatLayoutName(layout.dir, reference.tag) : output;
}

function referenceOf(tag: string): Reference {
  try {
    return parseReference(tag);
  } catch (error) {
    if (error instanceof ImageError) throw usageError(`-t: ${error.message}`);
    throw error;
  }
}
