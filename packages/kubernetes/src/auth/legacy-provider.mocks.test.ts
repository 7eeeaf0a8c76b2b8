import { expect, test, vi } from "vitest";
import { LegacyProvider } from "./legacy-provider.ts";

vi.mock("@kubernetes/client-node", () => {
  throw new Error("Cannot find package");
});

test("an auth-provider without the official client names the package to install", async () => {
  const provider = new LegacyProvider("ada", { name: "gcp", config: {} });
  await expect(provider.headers()).rejects.toMatchObject({
    code: "Credentials",
    message:
      "user ada: its auth-provider failed: it needs a package that cannot be loaded: npm install @kubernetes/client-node@2, or use an exec plugin",
  });
});
