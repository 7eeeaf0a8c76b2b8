import { describe } from "vitest";
import { testClusterPage } from "../harness/cluster-page.ts";
import { needs } from "../harness/needs.ts";

describe("docs/get-started/first-claim.md", needs("api-server"), () => {
  testClusterPage("docs/get-started/first-claim.md");
});
