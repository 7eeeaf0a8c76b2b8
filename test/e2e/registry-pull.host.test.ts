import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type BuiltImage, buildImage, flatten, openStore, type Store } from "@xfn/oci-rootfs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry, type TestRegistry } from "../harness/registry.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// @xfn/oci-rootfs with a real registry, skopeo and umoci.

let dir: string;
let store: Store;
let built: BuiltImage;

beforeAll(async () => {
  dir = temporaryFolder();
  store = await openStore({ dir: join(dir, "store") });
  built = await buildImage({
    store,
    name: `oci:${dir}/layout:v1`,
    layers: [
      {
        entries: [{ path: "bin/run", content: "#!/bin/sh\ncat\n", mode: 0o755 }],
        annotations: { "io.crossplane.xpkg": "base" },
      },
      { entries: Array.from({ length: 50 }, (_, i) => ({ path: `data/${i}`, content: `${i}`.repeat(10_000) })) },
    ],
    config: { entrypoint: ["/bin/run"], env: { A: "1" } },
  });
});

function push(host: string, ...options: string[]): string {
  const to = `${host}/org/fn:v1`;
  execFileSync("skopeo", [
    "copy",
    "-q",
    "--dest-tls-verify=false",
    ...options,
    `oci:${dir}/layout:v1`,
    `docker://${to}`,
  ]);
  return to;
}

/** Every path with its mode and, for files, its content. */
function files(root: string): string[] {
  const paths = readdirSync(root, { recursive: true }).map(String).sort();
  return paths.map((path) => {
    const stats = statSync(join(root, path));
    return `${path} ${stats.mode.toString(8)} ${stats.isFile() ? readFileSync(join(root, path), "utf8") : ""}`;
  });
}

let count = 0;
function emptyStore(): Promise<Store> {
  count += 1;
  return openStore({ dir: join(dir, `store${count}`) });
}

describe("a built image", needs("skopeo", "umoci"), () => {
  test("can be read by skopeo", () => {
    const inspected = JSON.parse(execFileSync("skopeo", ["inspect", `oci:${dir}/layout:v1`], { encoding: "utf8" }));
    expect(inspected).toMatchObject({
      Digest: built.digest,
      Env: ["A=1"],
      Layers: built.layers.map(({ digest }) => digest),
    });
  });

  test("is unpacked by umoci to the same files", async () => {
    const bundle = join(dir, "bundle");
    execFileSync("umoci", ["unpack", "--rootless", "--image", `${dir}/layout:v1`, bundle], { stdio: "pipe" });
    const flat = join(dir, "flat");
    flatten((await store.image(`oci:${dir}/layout:v1`)).layers, flat);
    expect(files(flat)).toEqual(files(join(bundle, "rootfs")));
  });
});

describe("an open registry", needs("docker-registry", "skopeo"), () => {
  let registry: TestRegistry;
  beforeAll(async () => {
    registry = await startRegistry();
  });
  afterAll(async () => {
    await registry.stop();
  });

  test.each([
    ["as it is", []],
    ["as Docker's own manifest", ["--format", "v2s2"]],
    ["as zstd", ["--dest-compress-format", "zstd"]],
  ])("an image that was pushed %s has the same files after a pull", async (_, options) => {
    const name = push(registry.host, ...options);
    const pulled = await (await emptyStore()).image(name, { insecureRegistries: [registry.host] });
    const original = await store.image(`oci:${dir}/layout:v1`);
    expect(pulled.config.rootfs).toEqual(original.config.rootfs);
    expect(pulled.layers.map(files)).toEqual(original.layers.map(files));
  });

  test("the digest is the same after push and pull", async () => {
    const name = push(registry.host);
    const pulled = await (await emptyStore()).image(name, { insecureRegistries: [registry.host] });
    expect(pulled.digest).toBe(built.digest);
    const pinned = `${registry.host}/org/fn@${built.digest}`;
    expect((await (await emptyStore()).image(pinned, { insecureRegistries: [registry.host] })).digest).toBe(
      built.digest,
    );
  });

  test("a short name is pulled from the default registry", async () => {
    push(registry.host);
    const options = { insecureRegistries: [registry.host], defaultRegistry: registry.host };
    const image = await (await emptyStore()).image("org/fn:v1", options);
    expect(image).toMatchObject({ name: `${registry.host}/org/fn:v1`, digest: built.digest });
  });

  test.each(["org/fn:missing", "missing/fn:v1"])("%s is NotFound", async (name) => {
    const pulling = (await emptyStore()).image(`${registry.host}/${name}`, { insecureRegistries: [registry.host] });
    await expect(pulling).rejects.toMatchObject({ code: "NotFound", retryable: false });
  });
});

describe("a registry with basic authentication", needs("docker-registry", "skopeo"), () => {
  let registry: TestRegistry;
  let name: string;
  const auth = { username: REGISTRY_USER, password: REGISTRY_PASSWORD };
  beforeAll(async () => {
    registry = await startRegistry({ auth: true });
    name = push(registry.host, "--dest-creds", `${REGISTRY_USER}:${REGISTRY_PASSWORD}`);
  });
  afterAll(async () => {
    await registry.stop();
  });

  test("the right credentials pull", async () => {
    const image = await (await emptyStore()).image(name, { auth, insecureRegistries: [registry.host] });
    expect(image.digest).toBe(built.digest);
  });

  test.each([
    ["none", undefined],
    ["a wrong password", { username: REGISTRY_USER, password: "wrong" }],
  ])("%s is Unauthorized", async (_, wrong) => {
    const pulling = (await emptyStore()).image(name, { auth: wrong, insecureRegistries: [registry.host] });
    await expect(pulling).rejects.toMatchObject({ code: "Unauthorized", retryable: false });
  });
});

describe("a registry behind a token server", needs("docker-registry", "skopeo"), () => {
  let registry: TestRegistry;
  let tokens: Server;
  let proxy: Server;
  const seen: { url: string | undefined; authorization: string | undefined }[] = [];

  // docker-registry supports only signed tokens. A proxy in front of it requires the token of the test's token server.
  beforeAll(async () => {
    registry = await startRegistry();
    push(registry.host);
    tokens = createServer(({ url, headers }, response) => {
      seen.push({ url, authorization: headers.authorization });
      response.end(JSON.stringify({ access_token: "for-this-test" }));
    });
    const realm = `http://${await listen(tokens)}/token`;
    proxy = createServer(({ method, url, headers }, response) => {
      if (headers.authorization !== "Bearer for-this-test") {
        response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}",service="proxy"` }).end();
        return;
      }
      const [hostname, port] = registry.host.split(":");
      const onward = request(
        { hostname, port, path: url, method, headers: { accept: headers.accept ?? "*/*" } },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      onward.end();
    });
    await listen(proxy);
  });
  afterAll(async () => {
    tokens.close();
    proxy.close();
    await registry.stop();
  });

  test("a token is requested once with the credentials, and gives access", async () => {
    const host = hostOf(proxy);
    const auth = { username: "ada", password: "open sesame" };
    const image = await (await emptyStore()).image(`${host}/org/fn:v1`, { auth, insecureRegistries: [host] });
    expect(image.digest).toBe(built.digest);
    const authorization = `Basic ${Buffer.from("ada:open sesame").toString("base64")}`;
    expect(seen).toEqual([{ url: "/token?service=proxy&scope=repository%3Aorg%2Ffn%3Apull", authorization }]);
  });
});

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return hostOf(server);
}

function hostOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
