import type { LookupAddress } from "node:dns";
import { expect, test, vi } from "vitest";
import { fakeRegistry } from "../../testing/fake-registry.ts";
import { testImage } from "../../testing/layout.ts";
import { sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { openStore } from "../transfer/open-store.ts";

const names: Record<string, string> = { "intranet.test": "10.255.255.1", "metadata.test": "169.254.169.254" };

vi.mock("node:dns", async (original) => ({
  ...(await original<object>()),
  lookup: (host: string, _: object, callback: (error: null, addresses: LookupAddress[]) => void) =>
    callback(null, [{ address: names[host] ?? "127.0.0.1", family: 4 }]),
}));

test.each(Object.keys(names))(
  "a redirect to %s is rejected because of the address that it resolves to",
  async (host) => {
    using box = sandbox();
    await using registry = await fakeRegistry();
    registry.add(testImage([tarball([file("a", "1")])]));
    registry.fault = (request, response) => {
      if (request.url?.includes("/blobs/") !== true) return false;
      response.writeHead(307, { location: `https://${host}/blob` }).end();
      return true;
    };
    const store = await openStore({ dir: box.store });
    const pulling = store.image(`${registry.host}/fn`, { insecureRegistries: [registry.host], stallTimeoutMs: 30_000 });
    await expect(pulling).rejects.toMatchObject({ code: "UnsafeAddress" });
  },
);
