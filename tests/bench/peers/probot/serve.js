// Contender: probot, as its documentation writes an app. It keeps nothing: node serve.js 8080 SECRET
import { createServer } from "node:http";
import { createNodeMiddleware, createProbot } from "probot";

const [port, secret] = process.argv.slice(2);
const { generateKeyPairSync } = await import("node:crypto");
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});
const probot = createProbot({ overrides: { appId: 1, privateKey, secret, logLevel: "fatal" } });
const app = (bot) => bot.on(["pull_request_review", "pull_request_review_comment"], async (context) => context.payload.action);
const middleware = await createNodeMiddleware(app, { probot, webhooksPath: "/webhooks/github" });
createServer(middleware).listen(Number(port), "127.0.0.1", () => console.log("{}"));
