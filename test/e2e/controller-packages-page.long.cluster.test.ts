import { afterAll, describe } from "vitest";
import { testClusterPage } from "../harness/cluster-page.ts";
import { needs } from "../harness/needs.ts";
import { startRegistry, type TestRegistry } from "../harness/registry.ts";

describe("docs/tasks/packages.md", needs("api-server", "crun", "docker-registry"), () => {
  let registry: TestRegistry | undefined;
  afterAll(async () => {
    await registry?.stop();
  });
  testClusterPage("docs/tasks/packages.md", async () => {
    registry = await startRegistry();
    return { REGISTRY: registry.host };
  });
});
