// The archive for clusters without internet: the images, the chart and the manifests, with a script that loads them.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BuiltImage } from "../image/build-images.ts";
import type { ReleaseSettings } from "./settings.ts";
import { tarball } from "./tarball.ts";

const TEMPLATE = readFileSync(new URL("load.sh", import.meta.url), "utf8");

/** Packs the other files of the release. @param scratch for copies */
export function packOffline(settings: ReleaseSettings, images: readonly BuiltImage[], scratch: string): void {
  const { version, output, registry } = settings;
  const name = `xfn-offline-${version}`;
  const folder = join(scratch, name);
  mkdirSync(folder, { recursive: true });
  for (const file of ["images", `xfn-chart-${version}.tgz`, `xfn-manifests-${version}.tgz`])
    cpSync(join(output, file), join(folder, file), { recursive: true });
  const script = TEMPLATE.replaceAll("@VERSION@", version)
    .replaceAll("@REGISTRY@", registry)
    .replaceAll("@IMAGES@", images.map((image) => image.name).join(" "));
  writeFileSync(join(folder, "load.sh"), script, { mode: 0o755 });
  tarball(scratch, name, join(output, `${name}.tar`));
}
