"""`recbot upload` against a real S3 server (moto), also through a proxy that fails on purpose.

Each file that is sent is compared byte by byte with what boto3 gets back from the store.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import boto3
import botocore

import seeds
from case import Case, scenarios
from faulty_proxy import Proxy
from stage import Stage, free_port

RUNS, LONG_RUNS = 6, 60
MIB = 1 << 20


class Moto:
    """A store of its own. `checked_after`: from that many requests on, signatures and rights are checked."""

    def __init__(self, stage: Stage, checked_after: int | None = None):
        _, self.url = stage.store(checked_after)
        self.port = int(self.url.rsplit(":", 1)[1])

    def client(self, service: str = "s3", key: str = "key", secret: str = "secret"):
        return boto3.client(
            service, endpoint_url=self.url, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")


class S3Test(Case):
    def setUp(self):
        self.moto = Moto(self.stage)
        self.s3 = self.moto.client()
        self.folder = self.stage.folder
        self.bucket = f"bucket-{self.name.lower().replace('_', '-')}"[:60].rstrip("-")
        self.s3.create_bucket(Bucket=self.bucket)

    def file(self, name: str, size: int, seed: int = 1) -> Path:
        path = self.folder / f"{self.bucket}-{name}"
        path.write_bytes(random.Random(seed).randbytes(size))
        return path

    def environment(self, **more: str) -> dict:
        return {**os.environ, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
                "RECBOT_PRIVATE_ADDRESSES": "allow", **more}

    def start(self, file: Path, target: str, endpoint: str, *arguments: str, **more: str) -> subprocess.Popen:
        return self.ended(subprocess.Popen(
            [self.stage.recbot, "upload", str(file), target, "--s3-endpoint", endpoint, "--json", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(**more)))

    def ended(self, process: subprocess.Popen) -> subprocess.Popen:
        """Ends a process with the scenario, whatever it does."""
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def upload(self, file: Path, key: str, endpoint: str | None = None, *arguments: str, code: int = 0, **more: str):
        process = self.start(file, f"s3://{self.bucket}/{key}", endpoint or self.moto.url, *arguments, **more)
        output, errors = process.communicate(timeout=170)
        self.assertEqual(process.returncode, code, errors)
        if code:
            return errors
        return json.loads(output)

    def check_object(self, key: str, file: Path) -> None:
        body = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        self.assertEqual(hashlib.sha256(body).hexdigest(), hashlib.sha256(file.read_bytes()).hexdigest())

    def keys(self) -> list[str]:
        return [entry["Key"] for entry in self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])]

    def uploads(self) -> list:
        return self.s3.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])

    # One request

    def test_small_file(self):
        file = self.file("small", 123_456)
        answer = self.upload(file, "a b/ü+~*'().webm")
        self.assertEqual(answer["location"], f"s3://{self.bucket}/a b/ü+~*'().webm")
        self.assertEqual(answer["sha256"], hashlib.sha256(file.read_bytes()).hexdigest())
        self.check_object("a b/ü+~*'().webm", file)

    def test_empty_file(self):
        file = self.file("empty", 0)
        self.upload(file, "empty.webm")
        self.check_object("empty.webm", file)

    # Parts

    def test_large_file(self):
        file = self.file("large", 43 * MIB + 7)
        with Proxy(self.moto.port) as proxy:
            self.upload(file, "large.webm", proxy.url, "--parallel", "4")
            self.assertEqual(proxy.count("PUT", "partNumber"), 6)
        self.check_object("large.webm", file)
        self.assertEqual(self.uploads(), [])
        self.assertFalse(Path(f"{file}.upload").exists())

    def test_a_way_that_fails(self):
        """Whatever happens on the way: the object is the file, or the command says that it is not."""
        self.fail_on_the_way(RUNS)

    def test_a_way_that_fails_long(self):
        """As `a_way_that_fails`, many more times."""
        self.fail_on_the_way(LONG_RUNS)

    def fail_on_the_way(self, runs: int) -> None:
        delivered = failed = faults = 0
        file = self.file("faults", 16 * MIB + 11)
        first = seeds.seed(0)
        for seed in range(first, first + runs):
            key = f"{seed}.webm"
            with Proxy(self.moto.port, seed=seed, rate=0.25) as proxy:
                process = self.start(
                    file, f"s3://{self.bucket}/{key}", proxy.url, "--part-size", "5", "--attempts", "6")
                output, errors = process.communicate(timeout=170)
                faults += len(proxy.faults)
            if process.returncode == 0:
                delivered += 1
                self.check_object(key, file)
            else:
                failed += 1
                self.assertIn(process.returncode, (49, 50), f"seed {seed}: {errors}")
                self.assertTrue(errors.startswith("recbot: ") or "\nrecbot: " in errors, errors)
                # The same again, without faults: it goes on, and ends well.
                self.upload(file, key, None, "--part-size", "5")
                self.check_object(key, file)
        self.verdict.figure(f"{runs} seeds from {first} on, {faults} faults: {delivered} delivered, {failed} given up and delivered later")
        self.assertGreater(delivered, runs // 2)
        self.assertGreater(faults, runs)

    def test_kill_and_resume(self):
        file = self.file("killed", 60 * MIB + 1)
        with Proxy(self.moto.port, delay=0.4) as proxy:
            process = self.start(file, f"s3://{self.bucket}/killed.webm", proxy.url, "--part-size", "5", "--parallel", "1")
            deadline = time.monotonic() + 60
            while proxy.count("PUT", "partNumber") < 5 and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            before = proxy.count("PUT", "partNumber")
            self.assertEqual(self.keys(), [])
            self.assertEqual(len(self.uploads()), 1)
            self.assertTrue(Path(f"{file}.upload").exists())
            proxy.delay = 0
            self.upload(file, "killed.webm", proxy.url, "--part-size", "5")
            after = proxy.count("PUT", "partNumber") - before
        self.check_object("killed.webm", file)
        # At most the part under way is sent twice.
        self.assertLessEqual(before + after, 14)
        self.assertGreaterEqual(before, 5)
        self.assertEqual(self.uploads(), [])

    def test_a_changed_file_is_not_mixed_with_parts_of_the_old_one(self):
        file = self.file("changed", 20 * MIB)
        with Proxy(self.moto.port, delay=0.4) as proxy:
            process = self.start(file, f"s3://{self.bucket}/changed.webm", proxy.url, "--part-size", "5", "--parallel", "1")
            while proxy.count("PUT", "partNumber") < 2 and process.poll() is None:
                time.sleep(0.05)
            process.kill()
            process.communicate()
            data = bytearray(file.read_bytes())
            data[17] ^= 1
            file.write_bytes(data)
            self.upload(file, "changed.webm", proxy.url, "--part-size", "5")
        self.check_object("changed.webm", file)

    def test_completed_by_a_process_that_could_not_say_so(self):
        """The answer to the last request is lost, and so is the process: the next one finds the object."""
        file = self.file("lost", 12 * MIB)
        with Proxy(self.moto.port, corrupt=None) as proxy:
            killed = []

            def kill_after_complete(handler):
                if handler.command == "POST" and "uploadId" in handler.path and not killed:
                    killed.append(True)
                    process.send_signal(signal.SIGKILL)
                return False

            proxy.corrupt = kill_after_complete
            process = self.start(file, f"s3://{self.bucket}/lost.webm", proxy.url, "--part-size", "5")
            process.communicate(timeout=60)
            self.assertTrue(killed)
            deadline = time.monotonic() + 10
            while not self.keys() and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertEqual(self.keys(), ["lost.webm"])
            before = proxy.count("PUT", "partNumber")
            self.upload(file, "lost.webm", proxy.url, "--part-size", "5")
            self.assertEqual(proxy.count("PUT", "partNumber"), before)
        self.assertEqual(self.uploads(), [])
        self.check_object("lost.webm", file)

    def test_stopped_leaves_nothing(self):
        file = self.file("stopped", 40 * MIB)
        with Proxy(self.moto.port, delay=0.5) as proxy:
            process = self.start(file, f"s3://{self.bucket}/stopped.webm", proxy.url, "--part-size", "5")
            while proxy.count("PUT", "partNumber") < 2 and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("cancelled", errors)
        self.assertEqual(self.uploads(), [])
        self.assertEqual(self.keys(), [])
        self.assertFalse(Path(f"{file}.upload").exists())

    # What is there

    def test_other_objects_are_never_replaced(self):
        self.s3.put_object(Bucket=self.bucket, Key="there.webm", Body=b"other")
        for size in (1000, 12 * MIB):
            errors = self.upload(self.file(f"there-{size}", size), "there.webm", None, "--part-size", "5", code=40)
            self.assertIn("not overwritten", errors)
        self.assertEqual(self.s3.get_object(Bucket=self.bucket, Key="there.webm")["Body"].read(), b"other")
        self.assertEqual(self.uploads(), [])

    def test_the_same_object_is_only_compared(self):
        for size in (1000, 12 * MIB):
            file = self.file(f"same-{size}", size)
            # Put there by somebody else, in one request: without our checksums.
            self.s3.put_object(Bucket=self.bucket, Key=f"{size}.webm", Body=file.read_bytes())
            with Proxy(self.moto.port) as proxy:
                self.upload(file, f"{size}.webm", proxy.url, "--part-size", "5")
                self.assertEqual(proxy.count("PUT"), 0)

    def test_damage_is_found(self):
        """A byte changes on the way, in each request: never a success, never a damaged object."""
        for size in (1000, 12 * MIB):
            file = self.file(f"damaged-{size}", size)
            with Proxy(self.moto.port, corrupt=lambda handler: handler.command == "PUT") as proxy:
                errors = self.upload(
                    file, f"{size}.webm", proxy.url, "--part-size", "5", "--attempts", "2", code=49)
            self.assertTrue("not what was sent" in errors or "BadDigest" in errors or "Mismatch" in errors, errors)
            self.assertNotIn(f"{size}.webm", self.keys())
            # Damaged once only: sent again.
            once = []

            def damage(handler):
                if handler.command == "PUT" and not once:
                    once.append(True)
                    return True
                return False

            with Proxy(self.moto.port, corrupt=damage) as proxy:
                self.upload(file, f"{size}.webm", proxy.url, "--part-size", "5")
            self.check_object(f"{size}.webm", file)

    # Errors of people

    def test_no_bucket(self):
        process = self.start(self.file("x", 10), "s3://no-such-bucket/x.webm", self.moto.url)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 49)
        self.assertIn("there is no bucket no-such-bucket", errors)

    def test_private_addresses_are_refused_unless_allowed(self):
        errors = self.upload(self.file("x", 10), "x.webm", code=50, RECBOT_PRIVATE_ADDRESSES="refuse")
        self.assertIn("not encrypted", errors)

    def test_nobody_there(self):
        errors = self.upload(
            self.file("x", 10), "x.webm", f"http://127.0.0.1:{free_port()}", "--attempts", "3", code=49)
        self.assertIn("3 times", errors)

    def test_a_wrong_clock_is_made_up_for(self):
        file = self.file("clock", 12 * MIB)
        with Proxy(self.moto.port, clock=86_400 * 3) as proxy:
            self.upload(file, "clock.webm", proxy.url, "--part-size", "5")
        self.check_object("clock.webm", file)

    # While it grows

    def test_live(self):
        clip = self.folder / "clip.webm"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=30", "-f", "lavfi", "-i",
             "sine=f=440:r=48000", "-ac", "2", "-t", "4", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8",
             "-b:v", "2M", "-g", "45", "-c:a", "libopus", str(clip)], check=True)
        file = self.folder / "growing.webm"
        with Proxy(self.moto.port, seed=3, rate=0.1, kinds=("503", "reset", "lost-answer")) as proxy:
            writer = self.ended(subprocess.Popen(
                [self.stage.tool("webm-writer-loop"), str(clip), str(file), "--speed", "10", "--seconds", "120", "--finish"],
                stdout=subprocess.DEVNULL))
            process = self.start(
                file, f"s3://{self.bucket}/growing.webm", proxy.url, "--live", "--part-size", "5")
            writer.wait(timeout=60)
            early = proxy.count("PUT", "partNumber")
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.check_object("growing.webm", file)
        size = file.stat().st_size
        self.verdict.figure(f"{early} of {-(-size // (5 * MIB))} parts were there when the recording ended")
        self.assertGreaterEqual(early, size // (5 * MIB) - 2)


class SignatureTest(Case):
    """moto checks the signatures and rights of every request, with botocore's own code."""

    def test_signatures(self):
        moto = Moto(self.stage, checked_after=4)
        iam = moto.client("iam")
        iam.create_user(UserName="recorder")
        key = iam.create_access_key(UserName="recorder")["AccessKey"]
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        iam.put_user_policy(UserName="recorder", PolicyName="s3", PolicyDocument=json.dumps(policy))
        moto.client().create_bucket(Bucket="checked")
        with self.assertRaises(botocore.exceptions.ClientError):
            moto.client().list_objects_v2(Bucket="checked")
        folder = self.stage.folder
        for name, size in (("small ü+*.webm", 1000), ("large.webm", 12 * MIB)):
            file = folder / name
            file.write_bytes(random.Random(size).randbytes(size))
            for secret, code in ((key["SecretAccessKey"], 0), ("wrong" * 8, 49)):
                result = subprocess.run(
                    [self.stage.recbot, "upload", str(file), f"s3://checked/{code}/", "--s3-endpoint", moto.url,
                     "--part-size", "5"],
                    capture_output=True, text=True, timeout=120,
                    env={**os.environ, "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
                         "AWS_SECRET_ACCESS_KEY": secret, "RECBOT_PRIVATE_ADDRESSES": "allow"})
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertNotIn(secret, result.stderr + result.stdout)
                if code:
                    self.assertIn("check the credentials", result.stderr)
            client = moto.client("s3", key["AccessKeyId"], key["SecretAccessKey"])
            body = client.get_object(Bucket="checked", Key=f"0/{name}")["Body"].read()
            self.assertEqual(body, file.read_bytes())


SCENARIOS = scenarios(S3Test, SignatureTest)
LONG = ("a_way_that_fails_long",)
