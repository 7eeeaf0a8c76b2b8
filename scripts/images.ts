// Builds the images xfn and xfn-controller as OCI layouts, without a daemon: node scripts/images.ts [DIR]
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { buildImages } from "./image/build-images.ts";

const output = resolve(process.argv[2] ?? "dist/images");
const { version } = JSON.parse(readFileSync(new URL("../packages/cli/package.json", import.meta.url), "utf8")) as {
  version: string;
};
const scratch = mkdtempSync(join(tmpdir(), "xfn-images-"));
try {
  mkdirSync(output, { recursive: true });
  for (const { name, digest } of await buildImages({ version, output, scratch }))
    process.stdout.write(`oci:${join(output, name)}:${version}@${digest}\n`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
