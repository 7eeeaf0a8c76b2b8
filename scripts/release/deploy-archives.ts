// The chart and the manifests of a release.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../image/downloads.ts";
import type { ReleaseSettings } from "./settings.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Packs the chart as `helm package` would, and the overlays for `kubectl apply -k`. */
export function packDeploy(settings: ReleaseSettings, folder: string, scratch: string): void {
  const { version } = settings;
  const target = join(scratch, "xfn-manifests");
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  cpSync(join(ROOT, "deploy"), target, { recursive: true });
  cpSync(join(ROOT, "LICENSE"), join(target, "LICENSE"));
  for (const file of readdirSync(target, { recursive: true, encoding: "utf8" }))
    if (file.endsWith(".yaml")) stamp(join(target, file), settings);
  const chart = join(target, "chart");
  if (existsSync(chart)) {
    renameSync(chart, join(scratch, "xfn"));
    archive(scratch, "xfn", join(folder, `xfn-chart-${version}.tgz`));
  }
  archive(scratch, "xfn-manifests", join(folder, `xfn-manifests-${version}.tgz`));
}

function stamp(path: string, { version, registry }: ReleaseSettings): void {
  const text = readFileSync(path, "utf8")
    .replaceAll("registry.example.org", registry)
    .replaceAll(/^( *(?:version|app\.kubernetes\.io\/version): )\d+\.\d+\.\d+$/gm, `$1${version}`)
    .replaceAll(/^( *(?:appVersion|newTag): )v\d+\.\d+\.\d+$/gm, `$1v${version}`);
  writeFileSync(path, text);
}

/** Names, times and owners do not depend on the machine. */
function archive(from: string, name: string, to: string): void {
  const fixed = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];
  run("tar", [...fixed, "--use-compress-program=gzip -n", "-cf", to, name], from);
}
