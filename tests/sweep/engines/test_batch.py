"""The batch engine: two looks, the discount, a cap that holds, and batches that outlive a process."""

import asyncio
from decimal import Decimal

import pytest
from tests.batch.services import Messages
from tests.sweep.runs import begun, runner

import pondero
from pondero.batch import list_batches
from pondero.errors import Unsupported
from pondero.store import price_usage
from pondero.sweep import BatchEngine, Run, compute_results, make_outline
from pondero.sweep.run.runner import max_answer_cost, max_trial_cost

KEY = "k-not-a-real-one"


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    return data_dir


class Paid(Messages):
    """A service that needs a key, so that what is there outlives the process."""

    needs_key = True


def engine(service):
    return BatchEngine(transport=lambda _repeat: service, every=(0.0, 0.0))


def asked(run, other, **options):
    async def main():
        with run.hold_lock(known=other.begin(run.facts.run)):
            driver = runner(run, other, **options)
            return driver, await driver.finish()

    return asyncio.run(main())


def test_a_whole_sweep_on_batches_looks_twice_and_counts_the_discount():
    rows = [{"input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(40)]
    options = {"levels": "off,high", "judge": "numeric", "offline": True, "max_tokens": 3000}
    batched = pondero.sweep(rows, "claude-opus-5", engine="batch", **options)
    assert {arm.n for arm in batched.arms} == {40}
    assert list_batches()[0].owner == f"sweep {batched.run}"
    assert len(list_batches()) <= 2
    with Run.open(batched.run) as run:
        assert run.facts.looks == 2
        for each in run.answers().values():
            live = price_usage("anthropic", "claude-opus-5", each.usage)
            assert Decimal(each.cost) * 2 == live


def test_bounds_count_the_discount_and_services_without_batches_are_refused():
    rows = [{"input": "What is 2 * 23?", "target": "46"}] * 2
    options = {"models": ("claude-opus-5",), "judge": "numeric", "max_tokens": 1000}
    outline = make_outline(rows, {**options, "engine": "batch"})
    arm, question = outline.arms[0], outline.questions[0]
    live = max_answer_cost(arm, question, system=None, max_tokens=1000)
    assert max_trial_cost(outline.spec, arm, question) * 2 == live
    with pytest.raises(Unsupported, match="these have one: anthropic"):
        make_outline(
            rows, {**options, "models": ("command-a-reasoning-08-2025",), "engine": "batch"}
        )


def test_what_was_left_at_the_service_is_collected_and_nothing_is_sent_twice():
    service = Paid(after=10_000)
    with begun(20, looks=1, max_cost=50.0, max_tokens=1000) as run:

        async def interrupted():
            other = engine(service)
            with run.hold_lock(known=other.begin(run.facts.run)):
                driver = runner(run, other)
                work = asyncio.ensure_future(driver.finish())
                while not (service.made and list_batches()[0].state == "running"):  # noqa: ASYNC110
                    await asyncio.sleep(0)
                driver.stop("interrupted")
                await work
                return driver

        left = asyncio.run(interrupted())
        assert left.purse.flights == 40
        assert run.answers() == {}
        assert run.lost == (0, Decimal(0))
        service.after = 0
        driver, _ = asked(run, engine(service))
        assert len(run.answers()) == 40
        assert run.lost == (0, Decimal(0))  # what was held was not counted as lost
        assert (driver.purse.flights, driver.purse.flying) == (0, Decimal(0))
        found = compute_results(run).arms[0]
        assert (found.n, found.seconds) == (20, None)  # how long an answer took is not known
    assert len(service.made) == len(service.creates) == 1


def test_a_cap_is_never_passed_and_the_rest_is_sent_when_there_is_room():
    service = Paid()
    with begun(20, looks=1, max_cost=0.35, max_tokens=1000) as run:
        other = engine(service)
        most = []

        async def main():
            with run.hold_lock(known=other.begin(run.facts.run)):
                driver = runner(run, other)
                driver.progress = lambda _: most.append(driver.purse.spent + driver.purse.flying)
                await driver.finish()
                return driver

        driver = asyncio.run(main())
        assert len(service.made) > 1  # the bound of all of them together is above the cap
        assert max(most) <= Decimal("0.35")
        assert driver.purse.spent <= Decimal("0.35")
        assert len(run.answers()) == 40


def test_what_expired_is_not_paid_for_and_is_asked_again_on_resume():
    service = Paid(ends=lambda number: "expired" if number < 4 else "answered")
    with begun(10, looks=1, max_cost=50.0, max_tokens=1000) as run:
        asked(run, engine(service))
        failed = [each for each in run.answers().values() if each.error]
        assert len(failed) == 4
        assert run.lost == (0, Decimal(0))
        run.forget_errors()
        service.ends = lambda _: "answered"
        asked(run, engine(service))
        assert not [each for each in run.answers().values() if each.error]
        sizes = [len(made.asks) for made in service.made.values()]
        assert sizes == [20, 4]


def test_a_batch_whose_results_are_gone_counts_as_paid():
    service = Paid()
    with begun(10, looks=1, max_cost=50.0, max_tokens=1000) as run:
        other = engine(service)
        service.cut_off = service.send

        def forgetful(request, timeouts=None):
            if request.method == "GET":
                service.made.clear()
            return service.cut_off(request, timeouts)

        service.send = forgetful
        asked(run, other)
        count, most = run.lost
        assert count == 20
        assert most > 0


def test_what_was_taken_and_never_sent_is_no_loss():
    with begun(4, looks=1, max_cost=50.0, max_tokens=1000) as run:
        run.begin("never sent", Decimal(1))  # killed before the batch was written
        asked(run, engine(Paid()))
        assert run.lost == (0, Decimal(0))
        assert len(run.answers()) == 8
