import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER } from "../harness/registry.ts";
import { clientOf, startRunnerServer } from "../harness/runner-server.ts";
import { PUBLIC_PATH, startTlsRegistry, type TlsRegistry } from "../harness/tls-registry.ts";
import { Workspace } from "../harness/workspace.ts";

// A registry over TLS, whose CA no machine trusts, with a token server on another host: --registry-ca, --mirror and
// --trusted-realm make it usable.

// No such name can be looked up (RFC 2606).
const NOWHERE = "nowhere.invalid";

describe("a registry over TLS", needs("crun", "docker-registry", "openssl"), () => {
  let workspace: Workspace;
  let registry: TlsRegistry;
  let env: Record<string, string>;
  let caches = 0;

  beforeAll(async () => {
    workspace = await Workspace.create();
    registry = await startTlsRegistry(workspace);
    const auth = Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString("base64");
    await workspace.write("docker/config.json", JSON.stringify({ auths: { [registry.host]: { auth } } }));
    env = { DOCKER_CONFIG: workspace.path("docker") };
    await workspace.write("fn/function", "#!/bin/sh\ncat\n", { mode: 0o755 });
    expect(await workspace.xfn(["build", "fn", "-t", "fn:v1"])).toMatchObject({ code: 0 });
    for (const path of [PUBLIC_PATH, "private"]) {
      const args = ["push", "fn:v1", `${registry.host}/${path}/fn:v1`, ...trust(), ...realm()];
      expect(await workspace.xfn(args, { env })).toMatchObject({ code: 0, stderr: "" });
    }
  });
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await workspace[Symbol.asyncDispose]();
  });

  const trust = (): string[] => ["--registry-ca", registry.ca];
  const realm = (): string[] => ["--trusted-realm", registry.realm];
  const mirror = (): string[] => ["--mirror", `${NOWHERE}=${registry.host}/${PUBLIC_PATH}`];
  const cache = (): string[] => ["--cache-dir", workspace.path(`cache-${++caches}`)];

  test("xfn pull needs the CA, the realm for credentials, and the mirror for a name of another registry", async () => {
    const pull = (name: string, ...flags: string[]): ReturnType<Workspace["xfn"]> =>
      workspace.xfn(["pull", name, ...flags, ...cache()], { env });
    const own = `${registry.host}/private/fn:v1`;
    const mirrored = `${NOWHERE}/fn:v1`;
    expect(await pull(own, ...trust(), ...realm())).toMatchObject({ code: 0, stderr: "" });
    expect(await pull(mirrored, ...trust(), ...mirror())).toMatchObject({ code: 0, stderr: "" });
    const untrusted = await pull(own, ...realm());
    expect(untrusted).toMatchObject({ code: 1, stdout: "" });
    expect(untrusted.stderr).toContain("--registry-ca");
    const withheld = await pull(own, ...trust());
    expect(withheld).toMatchObject({ code: 1, stdout: "" });
    expect(withheld.stderr).toContain(`--trusted-realm ${registry.realm}`);
    const args = ["pull", own, ...trust(), ...realm(), ...cache()];
    const anonymous = await workspace.xfn(args, { env: { DOCKER_CONFIG: workspace.path("no-docker-config") } });
    expect(anonymous).toMatchObject({ code: 1, stdout: "" });
    expect(anonymous.stderr).toContain(`docker login ${registry.host}`);
    const elsewhere = await pull(mirrored, ...trust());
    expect(elsewhere).toMatchObject({ code: 1, stdout: "" });
    expect(elsewhere.stderr).toContain(NOWHERE);
  });

  describe("xfn-runner serve", () => {
    const own = (): string => `${registry.host}/private/fn:v1`;
    const auth = { username: REGISTRY_USER, password: REGISTRY_PASSWORD };

    async function answersOf(flags: readonly string[]): Promise<string[]> {
      const address = `unix:${workspace.path("runner.sock")}`;
      await using _ = await startRunnerServer(workspace, ["--address", address, ...flags, ...cache()]);
      using client = clientOf({ endpoint: address });
      const run = async (image: string, options: { auth?: typeof auth } = {}): Promise<string> => {
        try {
          return Buffer.from(await client.run(image, Buffer.from("in\n"), options)).toString();
        } catch (error) {
          return String(error);
        }
      };
      return [await run(own(), { auth }), await run(`${NOWHERE}/fn:v1`)];
    }

    test("pulls with all three flags", async () => {
      expect(await answersOf([...trust(), ...realm(), ...mirror()])).toEqual(["in\n", "in\n"]);
    });

    test("says what it lacks without each of them", async () => {
      const [untrusted] = await answersOf([...realm(), ...mirror()]);
      expect(untrusted).toContain("certificate");
      const [withheld] = await answersOf([...trust(), ...mirror()]);
      expect(withheld).toContain(registry.realm);
      const [, unknown] = await answersOf([...trust(), ...realm()]);
      expect(unknown).toContain(NOWHERE);
    });
  });
});
