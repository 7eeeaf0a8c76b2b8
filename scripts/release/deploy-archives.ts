// The chart and the manifests of a release.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXAMPLES, type ReleaseSettings } from "./settings.ts";
import { tarball } from "./tarball.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Packs the chart as `helm package` would, and the overlays for `kubectl apply -k`. */
export function packDeploy(settings: ReleaseSettings, folder: string, scratch: string): void {
  const { version } = settings;
  const target = join(scratch, "xfn-manifests");
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  cpSync(join(ROOT, "deploy"), target, { recursive: true });
  cpSync(join(ROOT, "LICENSE"), join(target, "LICENSE"));
  cpSync(join(settings.output, "CHANGELOG.md"), join(target, "CHANGELOG.md"));
  for (const file of readdirSync(target, { recursive: true, encoding: "utf8" }))
    if (file.endsWith(".yaml")) stamp(join(target, file), settings);
  const chart = join(target, "chart");
  if (existsSync(chart)) {
    renameSync(chart, join(scratch, "xfn"));
    tarball(scratch, "xfn", join(folder, `xfn-chart-${version}.tgz`));
  }
  tarball(scratch, "xfn-manifests", join(folder, `xfn-manifests-${version}.tgz`));
}

function stamp(path: string, { version, registry, repository }: ReleaseSettings): void {
  const text = readFileSync(path, "utf8")
    .replaceAll(/(registry\.example\.org\/[\w-]+:v)\d+\.\d+\.\d+/g, `$1${version}`)
    .replaceAll(EXAMPLES.registry, registry)
    .replaceAll(`${EXAMPLES.repository}/blob/main/`, `${repository}/blob/v${version}/`)
    .replaceAll(EXAMPLES.repository, repository)
    .replace(/^( +artifacthub\.io\/prerelease: ).*$/m, `$1"${version.includes("-")}"`)
    .replaceAll(/^( *(?:version|app\.kubernetes\.io\/version): )\d+\.\d+\.\d+$/gm, `$1${version}`)
    .replaceAll(/^( *(?:appVersion|newTag): )v\d+\.\d+\.\d+$/gm, `$1v${version}`);
  writeFileSync(path, text);
}
