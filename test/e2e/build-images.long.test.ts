import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildIndex, openStore } from "@xfn/oci-rootfs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addHostBases } from "../harness/host-bases.ts";
import { needs } from "../harness/needs.ts";
import { startRegistry, type TestRegistry } from "../harness/registry.ts";
import { Workspace } from "../harness/workspace.ts";

// Images of xfn build, read by other tools and a registry.

const FUNCTION = (text: string): string => `import { compose } from "@xfn/functionio/sdk";
export default compose(({ results }) => results.normal("${text}"));
`;

interface Manifest {
  readonly mediaType: string;
  readonly manifests?: readonly { readonly digest: string; readonly platform: unknown }[];
  readonly layers?: readonly { readonly digest: string }[];
  readonly annotations?: Readonly<Record<string, string>>;
}

let workspace: Workspace;

beforeAll(async () => {
  workspace = await Workspace.create();
  await addHostBases(workspace, "node");
  await workspace.write("mood/function.ts", FUNCTION("fine"));
  await workspace.write("mood/package.json", '{"name":"mood","version":"1.2.3","license":"Apache-2.0"}');
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
});

async function build(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await workspace.xfn(["build", ...args]);
  expect(code, stderr).toBe(0);
  return stdout.trim().replace(/^.*@/, "");
}

function layoutBlob(layout: string, digest: string): Manifest {
  return JSON.parse(readFileSync(workspace.path(layout, "blobs", digest.replace(":", "/")), "utf8")) as Manifest;
}

/** A base for two processors, which differ in one file. */
async function twoPlatformBase(): Promise<void> {
  const store = await openStore({ dir: workspace.path("base-store") });
  const images = ["amd64", "arm64"].map((architecture) => ({
    platform: { os: "linux", architecture },
    layers: [{ entries: [{ path: "etc/processor", content: architecture }] }],
  }));
  await buildIndex({ store, name: `oci:${workspace.path("base")}:v1`, images });
}

describe("an image for several platforms", needs("skopeo", "docker-registry"), () => {
  let registry: TestRegistry;
  beforeAll(async () => {
    registry = await startRegistry();
    await twoPlatformBase();
  });
  afterAll(async () => {
    await registry.stop();
  });

  test("is an index with one image for each, which skopeo and a registry accept", async () => {
    const described = ["--annotation", "team=a", "--label", "tier=1"];
    const platforms = ["--platform", "linux/amd64,linux/arm64", "--base", "oci:base:v1"];
    const digest = await build("mood", "-t", "mood:v1", "-o", "oci:multi:v1", ...platforms, ...described);
    const index = layoutBlob("multi", digest);
    expect(index).toMatchObject({
      mediaType: "application/vnd.oci.image.index.v1+json",
      annotations: { team: "a", "org.opencontainers.image.version": "1.2.3" },
    });
    expect(index.manifests?.map(({ platform }) => platform)).toEqual([
      { os: "linux", architecture: "amd64" },
      { os: "linux", architecture: "arm64" },
    ]);
    const [amd64, arm64] = (index.manifests ?? []).map((one) => layoutBlob("multi", one.digest).layers ?? []);
    expect(amd64?.[0]).not.toEqual(arm64?.[0]);
    // The layers of xfn are the same for both, and are stored and sent once.
    expect(amd64?.slice(1)).toEqual(arm64?.slice(1));

    const name = `docker://${registry.host}/org/mood:v1`;
    const from = `oci:${workspace.path("multi")}:v1`;
    execFileSync("skopeo", ["copy", "-q", "--all", "--dest-tls-verify=false", from, name]);
    const inspect = (...args: string[]): unknown =>
      JSON.parse(execFileSync("skopeo", ["inspect", "--tls-verify=false", ...args, name], { encoding: "utf8" }));
    for (const architecture of ["amd64", "arm64"]) {
      expect(inspect(`--override-arch=${architecture}`)).toMatchObject({
        Architecture: architecture,
        Labels: {
          tier: "1",
          "org.opencontainers.image.title": "mood",
          "org.opencontainers.image.licenses": "Apache-2.0",
        },
      });
    }
  });

  test("in a layout has the tag of -t, by which skopeo finds it", async () => {
    await build("mood", "-t", "mood:v7", "-o", "oci:tagged", "--base", "oci:base:v1");
    const from = `oci:${workspace.path("tagged")}:v7`;
    expect(execFileSync("skopeo", ["inspect", from], { encoding: "utf8" })).toContain('"Digest"');
  });

  test("has the same digest in a second build", async () => {
    const args = ["mood", "-t", "mood:v1", "--base", "oci:base:v1", "--platform", "linux/amd64,linux/arm64"];
    expect(await build(...args)).toBe(await build(...args));
  });

  test("is refused if the base lacks one of them", async () => {
    const args = ["mood", "-t", "mood:v1", "--base", "oci:base:v1", "--platform", "linux/amd64,linux/s390x"];
    const { code, stdout, stderr } = await workspace.xfn(["build", ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("linux/s390x");
  });
});

describe("a second build after a change", needs("docker-registry", "skopeo"), () => {
  test("has one new layer, the code", async () => {
    await using registry = await startRegistry();
    const push = async (): Promise<string[]> => {
      const name = `${registry.host}/org/mood:v1`;
      const { code, stderr } = await workspace.xfn(["push", "mood:v1", name, "--insecure-registry", registry.host]);
      expect(code, stderr).toBe(0);
      const args = ["inspect", "--raw", "--tls-verify=false", `docker://${name}`];
      const { layers = [] } = JSON.parse(execFileSync("skopeo", args, { encoding: "utf8" })) as Manifest;
      return layers.map(({ digest }) => digest);
    };
    const again = async (text: string): Promise<string[]> => {
      await workspace.write("mood/function.ts", FUNCTION(text));
      const { code } = await workspace.xfn(["build", "mood", "-t", "mood:v1", "--no-check"]);
      expect(code).toBe(0);
      return await push();
    };
    const first = await again("fine");
    const second = await again("better");
    expect(second).toHaveLength(4);
    expect(second.filter((digest) => !first.includes(digest))).toEqual([second[2]]);
  });
});

describe("an SBOM", needs("umoci"), () => {
  test("is in the image that umoci unpacks, with the data of the lock file", async () => {
    await workspace.write(
      "with-package/function.ts",
      `import pad from "left-pad";\n${FUNCTION("fine")}export { pad };\n`,
    );
    await workspace.write("with-package/node_modules/left-pad/package.json", '{"name":"left-pad","version":"1.3.0"}');
    await workspace.write(
      "with-package/node_modules/left-pad/index.js",
      "module.exports = () => 1;\nconsole.log(1);\n",
    );
    await workspace.write(
      "with-package/package-lock.json",
      '{"lockfileVersion":3,"packages":{"node_modules/left-pad":{"version":"1.3.0","license":"WTFPL"}}}',
    );
    await build("with-package", "-t", "p", "-o", "oci:with-sbom:v1", "--no-check", "--sbom");
    const root = workspace.path("unpacked");
    execFileSync("umoci", ["unpack", "--rootless", "--image", `${workspace.path("with-sbom")}:v1`, root], {
      stdio: "ignore",
    });
    const { packages } = JSON.parse(readFileSync(join(root, "rootfs/sbom.spdx.json"), "utf8")) as {
      packages: { name: string; licenseDeclared?: string }[];
    };
    expect(packages.find(({ name }) => name === "left-pad")).toMatchObject({ licenseDeclared: "WTFPL" });
    expect(readdirSync(join(root, "rootfs"))).toContain("package.yaml");
  });
});

test.each([
  ["--platform", "arm64"],
  ["--platform", "linux/amd64,linux/amd64"],
  ["--label", "team"],
  ["--annotation", "=a"],
])("%s %s is wrong usage", async (flag, value) => {
  const { code, stdout, stderr } = await workspace.xfn(["build", "mood", "-t", "mood:v1", flag, value]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(flag);
});
