import { describe } from "vitest";
import { testClusterPage } from "../harness/cluster-page.ts";
import { needs } from "../harness/needs.ts";

describe("docs/controller.md", needs("api-server"), () => {
  testClusterPage("docs/controller.md");
});
