import { join } from "node:path";
import process from "node:process";
import { dockerCredentials } from "@xfn/oci-rootfs";
import { copyImage } from "@xfn/oci-rootfs/registry";
import type { BuiltImage } from "../image/build-images.ts";
import { run } from "../image/downloads.ts";
import { attachSignatures, simpleSignature } from "./image-signature.ts";
import type { ReleaseSettings } from "./settings.ts";

/** Publishes the packages to npm's registry, and the images with their signatures. */
export async function publish(
  settings: ReleaseSettings,
  tarballs: readonly string[],
  images: readonly BuiltImage[],
): Promise<void> {
  const { output, registry, version, insecure, key } = settings;
  const options = {
    credentials: dockerCredentials(),
    insecureRegistries: insecure ? [registry.split("/")[0] ?? ""] : [],
  };
  for (const { name, digest } of images) {
    const to = `${registry}/${name}`;
    await copyImage({ from: `oci:${join(output, "images", name)}:${version}`, to: `${to}:v${version}`, ...options });
    if (key !== undefined)
      await attachSignatures(`${to}@${digest}`, [simpleSignature(`${to}@${digest}`, key)], options);
  }
  // npm signs the provenance of packages in workflows only.
  const provenance = process.env["GITHUB_ACTIONS"] === "true" ? ["--provenance"] : [];
  const tag = version.includes("-") ? ["--tag=next"] : [];
  for (const tarball of tarballs) run("npm", ["publish", tarball, "--loglevel=error", ...tag, ...provenance]);
}
