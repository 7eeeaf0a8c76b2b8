// Builds all files of a release into one folder, and publishes them unless the run is dry:
// npm run release -- --dry-run --version 1.2.3. The same commit, settings and key give the same bytes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { buildImages } from "./image/build-images.ts";
import { run } from "./image/downloads.ts";
import { changelogOf, releaseNotes } from "./release/changelog.ts";
import { packDeploy } from "./release/deploy-archives.ts";
import { writeInstallers } from "./release/installers.ts";
import { packPackages } from "./release/npm-packages.ts";
import { packOffline } from "./release/offline-archive.ts";
import { packArchives } from "./release/program-archives.ts";
import { writeChecksums, writeProvenance } from "./release/provenance.ts";
import { publish } from "./release/publish.ts";
import { sbom } from "./release/sbom.ts";
import { releaseSettings } from "./release/settings.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

async function release(): Promise<void> {
  const settings = releaseSettings(process.argv.slice(2));
  const { version, output, dryRun } = settings;
  const git = (...args: string[]): string => run("git", args, ROOT).trim();
  if (!dryRun && git("status", "--porcelain") !== "") throw new Error("the checkout has changes: commit them first");
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const changelog = changelogOf(version);
  writeFileSync(join(output, "CHANGELOG.md"), changelog);
  writeFileSync(join(output, "RELEASE-NOTES.md"), releaseNotes(changelog, version));
  const scratch = mkdtempSync(join(tmpdir(), "xfn-release-"));
  try {
    const tarballs = packPackages(settings, join(output, "npm"), join(scratch, "packages"));
    const built = await buildImages({ version, output: join(output, "images"), scratch: join(scratch, "store") });
    packDeploy(settings, output, join(scratch, "deploy"));
    packArchives(version, join(output, "npm"), output, join(scratch, "archives"));
    packOffline(settings, built, join(scratch, "offline"));
    writeInstallers(settings);
    writeFileSync(join(output, `xfn-${version}.cdx.json`), sbom(version));
    writeProvenance(settings, built, git("rev-parse", "HEAD"));
    writeChecksums(settings);
    for (const { name, digest } of built) process.stdout.write(`${name}@${digest}\n`);
    process.stdout.write(`${output}: ${tarballs.length} packages, ${built.length} images\n`);
    if (!dryRun) await publish(settings, tarballs, built);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

try {
  await release();
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
