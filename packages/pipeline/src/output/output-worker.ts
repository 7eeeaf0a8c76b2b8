// A worker thread that reads outputs of functions (see read-output.ts).
import { serveJobs } from "@xfn/oci-rootfs/threads";
import { cutOutput, sendError } from "./output-job.ts";

serveJobs(cutOutput, sendError);
