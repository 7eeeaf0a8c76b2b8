import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../testing/fake-registry.ts";
import { testImage } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import type { Image, ImageOptions } from "../store/store.ts";
import { openStore } from "../transfer/open-store.ts";
import { AddressPolicy } from "./address-policy.ts";
import { isMetadataAddress, scopeOf } from "./network-scope.ts";

let box: Sandbox;
let registry: FakeRegistry;
let storage: FakeRegistry;
const image = testImage([tarball([file("a", "1")])]);

beforeEach(async () => {
  box = sandbox();
  registry = await fakeRegistry();
  storage = await fakeRegistry();
  registry.add(image);
  storage.add(image);
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await storage[Symbol.asyncDispose]();
  box[Symbol.dispose]();
});

async function pull(options: ImageOptions = {}): Promise<Image> {
  const store = await openStore({ dir: box.store });
  const insecureRegistries = [registry.host, storage.host];
  return store.image(`${registry.host}/fn`, {
    insecureRegistries,
    stallTimeoutMs: 30_000,
    retry: { attempts: 2, baseDelayMs: 1 },
    ...options,
  });
}

/** Redirects layers and configs to another host. */
function redirectBlobs(location: (url: string) => string): void {
  registry.fault = (request, response) => {
    const { url = "" } = request;
    if (!url.includes("/blobs/")) return false;
    response.writeHead(307, { location: location(url) }).end();
    return true;
  };
}

describe("redirects", () => {
  test("blobs may be on another host, which gets no credentials", async () => {
    const basic = `Basic ${Buffer.from("user:pass").toString("base64")}`;
    redirectBlobs((url) => `http://${storage.host}${url}?signature=secret`);
    registry.fault = ((inner) => (request, response) => {
      if (request.headers.authorization === basic) return inner(request, response);
      response.writeHead(401, { "www-authenticate": "Basic" }).end();
      return true;
    })(registry.fault);
    storage.fault = (request) => {
      request.url = request.url?.split("?")[0];
      return false;
    };
    expect((await pull({ auth: { username: "user", password: "pass" } })).digest).toBe(image.manifest.digest);
    expect(storage.requests.length).toBeGreaterThan(0);
    expect(storage.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test("another host that requires credentials gets neither credentials nor a token", async () => {
    redirectBlobs((url) => `http://${storage.host}${url}?signature=secret`);
    const challenge = `Bearer realm="http://${registry.host}/token"`;
    storage.fault = (_, response) => Boolean(response.writeHead(401, { "www-authenticate": challenge }).end());
    const error = await pull({ auth: { username: "user", password: "pass" } }).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "Unauthorized" });
    expect((error as Error).message).not.toContain("secret");
    expect(storage.requests.some(({ authorization }) => authorization !== undefined)).toBe(false);
    expect(registry.requests.some(({ line }) => line.includes("/token"))).toBe(false);
  });

  test("a loop ends after five", async () => {
    redirectBlobs((url) => url);
    await expect(pull()).rejects.toMatchObject({ code: "RegistryUnavailable" });
    expect(registry.requests.filter(({ line }) => line.includes("/blobs/"))).toHaveLength(6);
  });

  test.each([
    ["a link-local address", "http://169.254.169.254/latest/meta-data", "UnsafeAddress"],
    ["a link-local address written otherwise", "http://[::ffff:a9fe:a9fe]/", "UnsafeAddress"],
    ["a private address", "http://10.0.0.1/", "UnsafeAddress"],
    ["http on a host that is not named", "http://localhost:1/", "UnsafeAddress"],
    ["a private address by https", "https://10.255.255.1/", "UnsafeAddress"],
    ["a link-local address by https", "https://169.254.169.254/", "UnsafeAddress"],
    ["a file", "file:///etc/passwd", "RegistryUnavailable"],
    ["nothing", "http://", "RegistryUnavailable"],
  ])("to %s are rejected", async (_, location, code) => {
    redirectBlobs(() => location);
    await expect(pull()).rejects.toMatchObject({ code });
  });

  test("to a link-local address are rejected, even to an insecure registry", async () => {
    redirectBlobs(() => "http://169.254.169.254/x");
    const insecureRegistries = [registry.host, "169.254.169.254"];
    await expect(pull({ insecureRegistries })).rejects.toMatchObject({ code: "UnsafeAddress" });
  });
});

describe("addresses", () => {
  test.each([
    ["8.8.8.8", "public"],
    ["2606:4700::1111", "public"],
    ["169.254.169.254", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["fd00:ec2::254", "link-local"],
    ["::ffff:169.254.169.254", "link-local"],
    ["64:ff9b::a9fe:a9fe", "link-local"],
    ["64:ff9b:1::a9fe:a9fe", "private"],
    ["::ffff:0:169.254.169.254", "link-local"],
    ["::ffff:0:10.1.2.3", "private"],
    ["2002:a9fe:a9fe::1", "link-local"],
    // Teredo, with the client's address inverted.
    ["2001:0:808:808:0:0:5601:5601", "private"],
    ["2001:4860:4860::8888", "public"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["::1", "loopback"],
    ["::", "loopback"],
    ["0.0.0.0", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::127.0.0.1", "loopback"],
    ["10.1.2.3", "private"],
    ["172.31.255.255", "private"],
    ["172.32.0.1", "public"],
    ["192.168.0.1", "private"],
    ["100.64.0.1", "private"],
    ["fd12::1", "private"],
    ["224.0.0.1", "private"],
  ])("%s is %s", (address, side) => {
    expect(scopeOf(address)).toBe(side);
  });

  test.each([
    ["Alibaba", "100.100.100.200"],
    ["Alibaba, mapped", "::ffff:100.100.100.200"],
    ["Alibaba, by NAT64", "64:ff9b::6464:64c8"],
    ["Azure", "168.63.129.16"],
    ["Oracle", "192.0.0.192"],
    ["Amazon", "fd00:ec2::254"],
    ["Amazon's identities of pods", "fd00:ec2::23"],
    ["Google", "fd20:ce::254"],
    ["a network's own NAT64, /96", "64:ff9b:1::a9fe:a9fe"],
    ["a network's own NAT64, /48", "64:ff9b:1:a9fe:a9:fe00::"],
    ["a network's own NAT64, /64", "64:ff9b:1:0:a9:fea9:fe00:0"],
    ["Teredo", "2001:0:808:808:0:0:5601:5601"],
  ])("the metadata service of %s is not redirected to, even from a private registry", (_, address) => {
    expect(isMetadataAddress(address)).toBe(true);
    const policy = new AddressPolicy([`[${address}]`]);
    policy.noteRegistry("10.0.0.1");
    expect(() => policy.checkForeign(address, `[${address}]`)).toThrow(
      expect.objectContaining({ code: "UnsafeAddress" }),
    );
  });

  test.each(["10.0.0.1", "100.64.0.1", "64:ff9b:1::a00:1", "fd12::1", "8.8.8.8", "not-an-address"])(
    "%s is of no metadata service",
    (address) => {
      expect(isMetadataAddress(address)).toBe(false);
    },
  );

  const resolve = (policy: AddressPolicy, host: string): Promise<string | Error> =>
    new Promise((done) => {
      policy.lookupForeign(host)(host, {}, (error, address) => done(error ?? String(address)));
    });

  test("the address of a name is checked when connecting", async () => {
    const policy = new AddressPolicy([]);
    policy.noteRegistry("93.184.216.34");
    expect(await resolve(policy, "localhost")).toMatchObject({ code: "UnsafeAddress" });
  });

  test("a registry may redirect within its own part of the network", async () => {
    const policy = new AddressPolicy([]);
    policy.noteRegistry("127.0.0.1");
    expect(await resolve(policy, "localhost")).toMatch(/^(127\.|::1)/);
    expect(() => policy.checkForeign("10.0.0.1", "10.0.0.1")).toThrow(
      expect.objectContaining({ code: "UnsafeAddress" }),
    );
  });

  test("an insecure registry may be private, but not link-local", () => {
    const policy = new AddressPolicy(["10.0.0.1:5000", "169.254.1.1"]);
    policy.checkForeign("10.0.0.1", "10.0.0.1:5000");
    expect(() => policy.checkForeign("169.254.1.1", "169.254.1.1")).toThrow(
      expect.objectContaining({ code: "UnsafeAddress" }),
    );
  });
});
