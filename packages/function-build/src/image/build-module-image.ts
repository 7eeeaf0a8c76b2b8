import { join } from "node:path";
import { InputError } from "@xfn/input";
import { buildModule, isPortable, type Platform, printPlatform } from "@xfn/oci-rootfs";
import { moduleFault } from "@xfn/wasm/module";
import { compileModule, readModule } from "../module/compile-module.ts";
import { packageAnnotations } from "../package/package-annotations.ts";
import { packageMetadata } from "../package/package-yaml.ts";
import type { ModuleSource } from "../source/module-source.ts";
import type { BuildFunctionOptions, BuiltFunction } from "./build-options.ts";

/**
 * Builds the image of a WebAssembly module. It has no base, and runs on each platform.
 *
 * @throws InputError if the module does not compile, or cannot be a function
 */
export async function buildModuleImage(
  { dir, entry, language }: ModuleSource,
  options: BuildFunctionOptions,
  signal: AbortSignal,
): Promise<BuiltFunction> {
  const { store, name, targets = [{}] } = options;
  const platforms = targets.flatMap(({ platform }) => platform ?? []);
  checkOptions(
    options,
    platforms.find((platform) => !isPortable(platform)),
  );
  const described = packageAnnotations(dir, await packageMetadata(dir, "v1alpha1"));
  const module =
    language === undefined
      ? readModule(join(dir, entry))
      : await compileModule(dir, language, { mayRunFolder: platforms.length > 0, signal });
  const fault = moduleFault(module);
  if (fault !== undefined)
    throw new InputError(`the module of ${language === undefined ? join(dir, entry) : dir} cannot run: ${fault}`);
  signal.throwIfAborted();
  options.onNote?.("this image is a WebAssembly module: steps of type Wasm run it");
  return buildModule({ store, name, module, annotations: { ...described, ...options.annotations } });
}

function checkOptions({ targets = [], labels = {}, sbom }: BuildFunctionOptions, other: Platform | undefined): void {
  if (other !== undefined)
    throw new InputError(
      `a WebAssembly module is not for ${printPlatform(other)}: leave --platform out, or use wasip1/wasm alone`,
    );
  if (targets.some(({ base }) => base !== undefined))
    throw new InputError("the image of a WebAssembly module has no base: leave --base out");
  if (Object.keys(labels).length > 0)
    throw new InputError("the image of a WebAssembly module has no labels: use --annotation");
  if (sbom === true)
    throw new InputError("--sbom lists the packages of a bundle, but this folder becomes a WebAssembly module");
}
