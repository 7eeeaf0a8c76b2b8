// The tarballs of a release: the packages with its version and its URLs, packed as `npm publish` would.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../image/downloads.ts";
import type { ReleaseSettings } from "./settings.ts";

const PACKAGES = fileURLToPath(new URL("../../packages/", import.meta.url));

/**
 * Packs all packages, with the changelog in the output folder.
 *
 * @param scratch a folder for copies
 * @returns the paths of the tarballs
 */
export function packPackages(settings: ReleaseSettings, folder: string, scratch: string): string[] {
  const names = readdirSync(PACKAGES).toSorted();
  for (const name of names) stage(name, join(scratch, name), settings);
  mkdirSync(folder, { recursive: true });
  run(
    "npm",
    [
      "pack",
      "--ignore-scripts",
      "--loglevel=error",
      `--pack-destination=${folder}`,
      ...names.map((name) => `./${name}`),
    ],
    scratch,
  );
  return names.map((name) => join(folder, `xfn-${name}-${settings.version}.tgz`));
}

function stage(name: string, target: string, settings: ReleaseSettings): void {
  rmSync(target, { recursive: true, force: true });
  // npm packs the files that package.json lists.
  const isCopied = (path: string): boolean => !/\/(?:src|testing|node_modules|\.turbo)$|\.map$/.test(path);
  cpSync(join(PACKAGES, name), target, { recursive: true, filter: isCopied });
  const manifest = JSON.parse(readFileSync(join(target, "package.json"), "utf8")) as Record<string, unknown>;
  // Users install the packages with programs. The others come with them.
  if (manifest["bin"] !== undefined) {
    cpSync(join(settings.output, "CHANGELOG.md"), join(target, "CHANGELOG.md"));
    manifest["files"] = [...(manifest["files"] as string[]), "CHANGELOG.md"];
  }
  writeFileSync(join(target, "package.json"), `${JSON.stringify(stamped(manifest, name, settings), undefined, 2)}\n`);
  for (const file of readdirSync(target, { recursive: true, encoding: "utf8" })) {
    // Source maps are not packed.
    if (/\.(?:js|cjs|d\.ts)$/.test(file))
      rewrite(join(target, file), (text) => text.replace(/^\/\/# sourceMappingURL=.*\n?/gm, ""));
    if (file === "README.md") rewrite(join(target, file), (text) => publicLinks(text, settings));
  }
}

function rewrite(path: string, change: (text: string) => string): void {
  const text = readFileSync(path, "utf8");
  const changed = change(text);
  if (changed !== text) writeFileSync(path, changed);
}

/** Links to files of the repository, which a package does not contain. */
function publicLinks(text: string, { repository, version }: ReleaseSettings): string {
  const root = `${repository}/blob/v${version}/`;
  return text.replaceAll("](../../", `](${root}`).replaceAll("](../", `](${root}packages/`);
}

function stamped(manifest: Record<string, unknown>, name: string, { version, repository }: ReleaseSettings): object {
  const { dependencies, peerDependencies, devDependencies: _, scripts: __, ...rest } = manifest;
  const pinned = (field: unknown): object =>
    Object.fromEntries(
      Object.entries((field ?? {}) as Record<string, string>).map(([dependency, range]) => [
        dependency,
        dependency.startsWith("@xfn/") ? version : range,
      ]),
    );
  return {
    ...rest,
    version,
    homepage: `${repository}/tree/v${version}/packages/${name}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: "git", url: `git+${repository}.git`, directory: `packages/${name}` },
    publishConfig: { access: "public" },
    dependencies: pinned(dependencies),
    peerDependencies: pinned(peerDependencies),
  };
}
