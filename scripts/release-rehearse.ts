// Rehearses a release on this machine: publishes it to registries on loopback, and uses it as a user would, in an empty
// home: npm run release:rehearse. It needs Debian, docker-registry, crun and npm's registry, and takes some minutes.
import { generateKeyPairSync } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { installedSize } from "./rehearsal/installed-size.ts";
import { readLayoutDigests } from "./rehearsal/layout-digests.ts";
import { type Home, installTools, otherManagers, otherNodes } from "./rehearsal/other-tools.ts";
import { startRegistries } from "./rehearsal/registries.ts";
import { expectOutput, runAs } from "./rehearsal/run-as.ts";
import { verifyChecksums, verifyImage } from "./rehearsal/signatures.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const VERSION = "0.0.0-rehearsal.1";
const MEBIBYTE = 2 ** 20;

const LIMITS = {
  cli: { packages: ["@xfn/cli"], mebibytes: 80, count: 150 },
  all: { packages: ["@xfn/cli", "@xfn/runner", "@xfn/controller"], mebibytes: 130, count: 150 },
} as const;

const folder = mkdtempSync(join(tmpdir(), "xfn-rehearsal-"));
const registries = await startRegistries(folder);
try {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const key = join(folder, "key.pem");
  writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }));
  const verifier = { key: join(folder, "key.pub"), scratch: folder };
  writeFileSync(verifier.key, publicKey.export({ type: "spki", format: "pem" }));
  const release = join(folder, "release");
  const env = registries.env;
  step("publish the release");
  const images = `${registries.images}/xfn`;
  const flags = [
    "--version",
    VERSION,
    "--repository",
    "https://git.example.org/xfn",
    "--registry",
    images,
    "--insecure",
  ];
  const program = join(ROOT, "scripts/release.ts");
  await runAs(env, ROOT, process.execPath, [program, ...flags, "--key", key, "--output", release]);
  for (const [name, { packages, mebibytes, count }] of Object.entries(LIMITS)) {
    step(`install ${packages.join(", ")} in an empty home`);
    const home = emptyHome(name);
    await runAs(home.env, home.app, "npm", [
      "install",
      "--no-audit",
      "--no-fund",
      ...packages.map((one) => `${one}@${VERSION}`),
    ]);
    const size = installedSize(join(home.app, "node_modules"));
    say(`${Math.ceil(size.bytes / MEBIBYTE)} MiB, ${size.packages} packages`);
    if (size.bytes > mebibytes * MEBIBYTE || size.packages > count)
      throw new Error(`${packages.join(", ")}: the limits are ${mebibytes} MiB and ${count} packages`);
    if (name === "cli") await story(home);
    else {
      for (const program of ["xfn-runner", "xfn-controller"]) await expectOutput(home, program, ["--version"], VERSION);
      const tools = emptyHome("tools");
      await installTools(tools);
      step("run it with the newest Node, and with old ones");
      await otherNodes(tools, home, say);
      step("install it with pnpm and yarn");
      await otherManagers(tools, VERSION, emptyHome);
    }
  }
  step("run it by npx");
  const { env: npxEnv, app } = emptyHome("npx");
  await expectOutput({ env: npxEnv, app }, "npx", ["--yes", `@xfn/cli@${VERSION}`, "--version"], VERSION);
  step("verify the checksums and the images");
  verifyChecksums(verifier, release);
  for (const [name, digest] of readLayoutDigests(join(release, "images"), VERSION)) {
    const headers = { accept: "application/vnd.oci.image.index.v1+json" };
    const repository = `http://${registries.images}/v2/xfn/${name}`;
    const manifest = await fetch(`${repository}/manifests/v${VERSION}`, { headers });
    if (manifest.headers.get("docker-content-digest") !== digest)
      throw new Error(`${name}: the registry lacks the digest ${digest}`);
    await verifyImage(verifier, repository, digest);
    say(`${name}@${digest}`);
  }
  say("the rehearsal passed");
} finally {
  await registries[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
}

/** The README's story. */
async function story(home: Home): Promise<void> {
  step("the README's story");
  for (const name of ["quickstart", "templates"])
    cpSync(join(ROOT, "examples", name), join(home.app, name), { recursive: true });
  const xfn = join(home.app, "node_modules/.bin/xfn");
  // In a checkout, ./xfn builds these by itself.
  for (const name of ["backup", "database", "network-policy"])
    await runAs(home.env, home.app, xfn, ["build", `quickstart/functions/${name}`, "-t", `quickstart/${name}:v1`]);
  const inputs = ["xr", "composition", "functions"].map((name) => `quickstart/${name}.yaml`);
  await expectOutput(home, xfn, ["render", ...inputs], "kind: ScheduledBackup");
  const files = "templates/xr.yaml,templates/composition.yaml";
  await expectOutput(home, xfn, ["validate", "templates/definition.yaml", files], "2 success cases, 0 failure cases");
}

function emptyHome(name: string): Home {
  const home = join(folder, `home-${name}`);
  const app = join(home, "app");
  mkdirSync(app, { recursive: true });
  return { env: { ...registries.env, HOME: home, XDG_CACHE_HOME: join(home, ".cache") }, app };
}

function step(title: string): void {
  say(`--- ${title}`);
}

function say(text: string): void {
  process.stderr.write(`rehearsal: ${text}\n`);
}
