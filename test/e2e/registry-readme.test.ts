import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fencedBlocks } from "../harness/fenced-blocks.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry } from "../harness/registry.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

describe("the README of @xfn/oci-rootfs", needs("docker-registry"), () => {
  test("its example with a registry runs unchanged, with the credentials of `docker login`", async () => {
    const dir = temporaryFolder();
    await using registry = await startRegistry({ auth: true });
    try {
      const readme = readFileSync(join(CHECKOUT, "packages/oci-rootfs/README.md"), "utf8");
      const example = fencedBlocks(readme).find(({ rest }) => rest === "registry.ts");
      const auth = Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString("base64");
      writeFileSync(join(dir, "registry.ts"), example?.text ?? "");
      writeFileSync(join(dir, "package.json"), '{"type":"module"}');
      writeFileSync(join(dir, "config.json"), JSON.stringify({ auths: { [registry.host]: { auth } } }));
      symlinkSync(join(CHECKOUT, "node_modules"), join(dir, "node_modules"));
      mkdirSync(join(dir, "tmp"));
      const { stdout, stderr } = spawnSync(process.execPath, ["registry.ts"], {
        cwd: dir,
        encoding: "utf8",
        env: { PATH: process.env["PATH"], TMPDIR: join(dir, "tmp"), REGISTRY: registry.host, DOCKER_CONFIG: dir },
      });
      expect({ stdout, stderr }).toEqual({ stdout: "true 2\ntrue\ntrue\n", stderr: "" });
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
