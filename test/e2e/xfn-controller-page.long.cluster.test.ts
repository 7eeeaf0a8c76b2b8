import { describe } from "vitest";
import { testClusterPage } from "../harness/cluster-page.ts";
import { needs } from "../harness/needs.ts";

describe("docs/tasks/controller.md", needs("api-server"), () => {
  testClusterPage("docs/tasks/controller.md");
});
